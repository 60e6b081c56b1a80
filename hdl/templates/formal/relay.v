
`ifdef FORMAL
    // What is proved: nothing is lost, doubled, changed or taken out of order, and a word that is offered stands still until it
    // is taken. Words are numbered; one number is watched, and it may be any.
    reg started;
    initial started = 1'b0;
    always @(posedge clk) started <= 1'b1;
    always @(*) if (!started) assume (rst);

    (* anyconst *) reg [3:0] watched;
    reg [3:0] came;
    reg [3:0] went;
    reg [@{width - 1}@:0] kept;
    reg was_waiting;
    reg [@{width - 1}@:0] was_front;
    always @(posedge clk) begin
        if (rst) came <= 4'd0;
        else if (push & ready) came <= came + 4'd1;
        if (rst) went <= 4'd0;
        else if (valid & pop) went <= went + 4'd1;
        if (push && ready && came == watched) kept <= wdata;
        was_waiting <= valid & ~pop & ~rst;
        was_front <= front;
    end
    always @(*) if (started) begin
        assert (!behind_valid || front_valid);
        assert (came - went == {3'd0, front_valid} + {3'd0, behind_valid});
        if (front_valid && went == watched) assert (front == kept);
        if (behind_valid && went + 4'd1 == watched) assert (behind == kept);
        if (was_waiting) assert (valid && rdata == was_front);
    end
    // Reached states, so that the proof is not about nothing.
    always @(posedge clk) if (started && !rst) begin
        cover (behind_valid && pop);
        cover (valid && pop && push && ready);
    end
`endif
