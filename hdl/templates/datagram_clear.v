    // The engine is in reset until a session starts, and some time into it.
    reg [@{bits - 1}@:0] left;
    reg now;
    assign clear = now;
    assign engine_rst = now;
    always @(posedge clk) begin
        if (rst | start) left <= {@{bits}@{1'b1}};
        else if (left != @{bits}@'d0) left <= left - @{bits}@'d1;
        now <= rst | start | (left != @{bits}@'d0) | ~session_bound;
    end
