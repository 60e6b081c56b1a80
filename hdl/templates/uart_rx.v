    // Two flip-flops bring the line into this clock. Of three samples in a row the majority counts, so that a spike of one
    // clock is no edge and no bit.
    reg [1:0] meet;
    reg [1:0] past;
    reg line;
    reg was;
    always @(posedge clk) begin
        meet <= {meet[0], uart_rx};
        past <= {past[0], meet[1]};
        line <= (meet[1] & past[0]) | (meet[1] & past[1]) | (past[0] & past[1]);
        was <= line;
    end

    // One turn of `phase` is one bit. A falling edge starts it at half a turn, so that it ends in the middle of each bit.
    reg [@{phase_bits - 1}@:0] phase;
    reg busy;
    wire [@{phase_bits}@:0] turn = {1'b0, phase} + @{phase_bits + 1}@'d@{step}@;
    wire tick = busy & turn[@{phase_bits}@];
    reg [3:0] bits;            // 0: start, 1 to 8: data, 9: stop
    reg [7:0] shift;
    reg done;
    assign data = shift;
    assign valid = done;

    always @(posedge clk) begin
        if (busy) phase <= turn[@{phase_bits - 1}@:0];
        else phase <= @{phase_bits}@'d@{start}@;
        if (rst) busy <= 1'b0;
        else if (~busy) busy <= was & ~line;
        else if (tick) busy <= ~((bits == 4'd9) | ((bits == 4'd0) & line));
        if (~busy) bits <= 4'd0;
        else if (tick) bits <= bits + 4'd1;
        if (tick & (bits != 4'd9)) shift <= {line, shift[7:1]};
        // A byte without its stop bit is dropped; the frame's check finds that it is missing.
        done <= tick & (bits == 4'd9) & line & ~rst;
    end
