
`ifdef FORMAL
    // What is proved, for every width and depth that is built: nothing is lost, doubled, changed or taken out of order,
    // and the oldest word stands still until it is taken. One address is watched, and it may be any.
    reg started;
    initial started = 1'b0;
    always @(posedge clk) started <= 1'b1;
    always @(*) if (!started) assume (rst);

    (* anyconst *) reg [@{addr_bits - 1}@:0] watched;
    reg [@{width - 1}@:0] kept;
    reg holds;
    reg head_watched;
    // Words that are stored behind the watched one, counted by addresses.
    wire [@{addr_bits - 1}@:0] offset = watched - read_at;
    always @(posedge clk) begin
        if (put && write_at == watched) kept <= wdata;
        if (rst) holds <= 1'b0;
        else if (put && write_at == watched) holds <= 1'b1;
        else if (fetch && read_at == watched) holds <= 1'b0;
        if (rst) head_watched <= 1'b0;
        else if (fetch) head_watched <= read_at == watched;
    end
    reg [@{width - 1}@:0] head_kept;
    always @(posedge clk) if (fetch && read_at == watched) head_kept <= kept;

    reg was_waiting;
    reg [@{width - 1}@:0] was_head;
    always @(posedge clk) begin
        was_waiting <= valid & ~pop & ~rst;
        was_head <= head;
    end

    always @(*) if (started) begin
        assert (stored <= DEPTH);
        assert (some_stored == (stored != @{count_bits}@'d0));
        assert (!has_room || stored != DEPTH);
        assert ((write_at - read_at) == stored[@{addr_bits - 1}@:0]);
        assert (holds == ({1'b0, offset} < stored));
        if (holds) assert (memory[watched] == kept);
        if (head_valid && head_watched) assert (head == head_kept);
        if (was_waiting) assert (valid && rdata == was_head);
    end
    // Reached states, so that the proof is not about nothing.
    always @(posedge clk) begin
        cover (started && stored[1:0] == 2'd3 && head_valid && !rst);
        cover (started && head_valid && head_watched && pop);
    end
`endif
