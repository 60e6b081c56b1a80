    reg [@{width - 1}@:0] memory [0:@{depth - 1}@];
    reg [@{width - 1}@:0] word;
    assign rdata = word;
    always @(posedge clk) begin
        if (we) memory[waddr] <= wdata;
        if (re) word <= memory[raddr];
    end
