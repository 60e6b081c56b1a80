    // A copy of what comes, in registers of its own: tools must not make one register of several such copies, since each stands
    // beside what reads it.
    (* keep, dont_merge *) reg [@{width - 1}@:0] held;
    (* keep *) always @(posedge clk) held <= d;
    assign q = held;
