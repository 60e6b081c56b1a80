    // One turn of `phase` is one bit. The stop bit is the last 1 in `shift`, which empties behind it.
    reg [@{phase_bits - 1}@:0] phase;
    wire [@{phase_bits}@:0] turn = {1'b0, phase} + @{phase_bits + 1}@'d@{step}@;
    reg [9:0] shift;
    reg line;
    wire idle = shift == 10'd0;
    wire last = shift[9:1] == 9'd0;
    reg going;
    assign ready = ~going;
    assign uart_tx = line;

    always @(posedge clk) begin
        if (~going) phase <= @{phase_bits}@'d0;
        else phase <= turn[@{phase_bits - 1}@:0];
        if (rst) begin
            shift <= 10'd0;
            going <= 1'b0;
        end else if (~going) begin
            going <= valid;
            if (valid) shift <= {1'b1, data, 1'b0};
        end else if (turn[@{phase_bits}@]) begin
            shift <= {1'b0, shift[9:1]};
            going <= ~last;
        end
        line <= shift[0] | idle | rst;
    end
