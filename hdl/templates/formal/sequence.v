
`ifdef FORMAL
    // What is proved, whatever the lists hold and whenever groups and room for results come: each segment of each group
    // is read once and in order, and gives exactly its count of pairs with addresses first, first + 1, ..; `first` and
    // `last` come once a group and in order; a last pair goes only where its result has a place; no pair goes for a bank
    // that is not full. Assumed is what the blocks around it keep to: groups go to the banks in turn and only to a free
    // one, and lists hold no empty segments and tell those of one source.
    localparam TWO_BANKS = {% if two_banks %}1'b1{% else %}1'b0{% endif %};
    reg started;
    initial started = 1'b0;
    always @(posedge clk) started <= 1'b1;

    // The bank that the next group goes to.
    reg push_bank;
    always @(posedge clk)
        if (rst) push_bank <= 1'b0;
        else if (group_push & TWO_BANKS) push_bank <= ~push_bank;
    always @(*) begin
        if (!started) assume (rst);
        if (group_push) assume (!rst && group_bank == push_bank && !full[push_bank]);
        if (read_valid && !read_none) begin
            assume (walk_word[@{addr_bits}@:0] != @{addr_bits + 1}@'d0);
            assume (walk_word[@{2 * addr_bits + 1}@] == (walk_word[@{addr_bits}@:0] == @{addr_bits + 1}@'d1));
        end
    end

    // Segments are numbered as they are read and as they are taken; the word of any one of them is kept.
    (* anyconst *) reg [3:0] watched;
    reg [3:0] walk_number;
    reg [3:0] get_number;
    reg [@{2 * addr_bits}@:0] kept;
    wire [3:0] read_number = walk_number - 4'd1;
    wire [3:0] came_number = read_number - {3'd0, read_valid};
    always @(posedge clk) begin
        if (rst) walk_number <= 4'd0;
        else if (walk | walk_none) walk_number <= walk_number + 4'd1;
        if (rst) get_number <= 4'd0;
        else if (get) get_number <= get_number + 4'd1;
        if (read_valid && read_number == watched) kept <= walk_word[@{2 * addr_bits}@:0];
    end

    // The walk of the current list, the segment that pairs are of, and whether a group has begun and not ended.
    reg [@{ring_bits}@:0] list_done;
    reg [@{addr_bits - 1}@:0] segment_at;
    reg [@{addr_bits}@:0] segment_size;
    reg [@{addr_bits}@:0] segment_done;
    reg segment_begins;
    reg got_end;           // the segment taken last ends its group
    reg begun;
    reg was_room;
    always @(posedge clk) begin
        if (~walking) list_done <= @{ring_bits + 1}@'d0;
        else if (walk) list_done <= list_done + @{ring_bits + 1}@'d1;
        if (get) begin
            segment_at <= item[@{2 * addr_bits}@:@{addr_bits + 1}@];
            segment_size <= item_count;
            segment_done <= @{addr_bits + 1}@'d0;
            segment_begins <= item[@{2 * addr_bits + 2}@];
        end else if (go) segment_done <= segment_done + @{addr_bits + 1}@'d1;
        if (rst) got_end <= 1'b1;
        else if (get) got_end <= item[@{2 * addr_bits + 1}@];
        if (rst) begun <= 1'b0;
        else if (go) begun <= ~pair_last;
        was_room <= finish_ready;
    end

    // The segments that wait, oldest first.
    wire [1:0] get_1 = get_at + 2'd1;
    wire [1:0] get_2 = get_at + 2'd2;
    wire [1:0] get_3 = get_at + 2'd3;
    wire [ITEM-1:0] queue_0 = item;
    wire [ITEM-1:0] queue_1 = get_1[1] ? (get_1[0] ? item_3 : item_2) : (get_1[0] ? item_1 : item_0);
    wire [ITEM-1:0] queue_2 = get_2[1] ? (get_2[0] ? item_3 : item_2) : (get_2[0] ? item_1 : item_0);
    wire [ITEM-1:0] queue_3 = get_3[1] ? (get_3[0] ? item_3 : item_2) : (get_3[0] ? item_1 : item_0);
    wire [3:0] waits = {waiting > 3'd3, waiting > 3'd2, waiting > 3'd1, waiting > 3'd0};
    wire [3:0] ends = {queue_3[@{2 * addr_bits + 1}@], queue_2[@{2 * addr_bits + 1}@],
                       queue_1[@{2 * addr_bits + 1}@], queue_0[@{2 * addr_bits + 1}@]};
    wire [3:0] begins = {queue_3[@{2 * addr_bits + 2}@], queue_2[@{2 * addr_bits + 2}@],
                         queue_1[@{2 * addr_bits + 2}@], queue_0[@{2 * addr_bits + 2}@]};
    // Whether the newest segment of the queue ends a group, and with those behind it that are on their way.
    wire queue_ends = waits[3] ? ends[3] : waits[2] ? ends[2] : waits[1] ? ends[1] : waits[0] ? ends[0] : got_end;
    wire came_ends = came_valid ? came[0] : queue_ends;
    wire newest_ends = read_valid ? read_ends : came_ends;
    wire [2:0] walked = {2'd0, pair_valid & segment_last} + {2'd0, waits[0] & ends[0]} + {2'd0, waits[1] & ends[1]}
        + {2'd0, waits[2] & ends[2]} + {2'd0, waits[3] & ends[3]} + {2'd0, came_valid & came[0]}
        + {2'd0, read_valid & read_ends};
    wire [1:0] held = {1'b0, full[0]} + {1'b0, full[1]};
    wire [1:0] unread = {1'b0, unwalked[0]} + {1'b0, unwalked[1]};
    wire [3:0] sound = {sound_item(queue_3), sound_item(queue_2), sound_item(queue_1), sound_item(queue_0)};
    // A group without a source is one segment of its own; any other segment has a source.
    function sound_item(input [ITEM-1:0] one);
        sound_item = one[@{2 * addr_bits + 3}@] ? (one[@{2 * addr_bits + 2}@] & one[@{2 * addr_bits + 1}@] & one[ITEM-1])
            : (one[@{addr_bits}@:0] != @{addr_bits + 1}@'d0 && one[ITEM-1] == (one[@{addr_bits}@:0] == @{addr_bits + 1}@'d1));
    endfunction

    always @(*) if (started) begin
        // Banks are walked and done in turn.
        assert ((unwalked & ~full) == 2'd0);
        assert (TWO_BANKS || (!full[1] && !bank));
        assert (full[bank] == (full != 2'd0));
        assert (unwalked[walk_bank] == (unwalked != 2'd0));
        assert (push_bank == (bank ^ (TWO_BANKS && held == 2'd1)));
        assert (walk_bank == (bank ^ (TWO_BANKS && held - unread == 2'd1)));
        assert (walked == {1'b0, held - unread} && held >= unread);
        if (full[0]) assert (slot_0[SLOT-1] == (slot_0[SLOT-@{ring_bits + 3}@:SLOT-@{2 * ring_bits + 3}@] == @{ring_bits + 1}@'d0));
        if (full[1]) assert (slot_1[SLOT-1] == (slot_1[SLOT-@{ring_bits + 3}@:SLOT-@{2 * ring_bits + 3}@] == @{ring_bits + 1}@'d0));

        // A list is read from its start to its end.
        if (walking) begin
            assert (unwalked[walk_bank]);
            assert (walk_at == new_start + list_done && walk_left == new_count - list_done);
            assert (list_done < new_count);
            assert (walk_left != @{ring_bits + 1}@'d0 && walk_ends == (walk_left == @{ring_bits + 1}@'d1));
            assert (walk_begins == (list_done == @{ring_bits + 1}@'d0));
        end

        // What was read is taken once, in order and unchanged.
        assert (waiting <= 3'd4 && put_at - get_at == waiting[1:0]);
        assert (places <= 3'd4 && places == waiting + {2'd0, came_valid} + {2'd0, read_valid});
        assert (walk_number - get_number == {1'b0, places});
        if (came_valid && came_number == watched) assert (came_word[@{2 * addr_bits}@:0] == kept);
        if (waits[0] && get_number == watched) assert (queue_0[@{2 * addr_bits}@:0] == kept);
        if (waits[1] && get_number + 4'd1 == watched) assert (queue_1[@{2 * addr_bits}@:0] == kept);
        if (waits[2] && get_number + 4'd2 == watched) assert (queue_2[@{2 * addr_bits}@:0] == kept);
        if (waits[3] && get_number + 4'd3 == watched) assert (queue_3[@{2 * addr_bits}@:0] == kept);
        if (pair_valid && get_number - 4'd1 == watched) assert ({segment_at, segment_size} == kept);
        assert ((waits & ~sound) == 4'd0);
        if (came_valid) assert (sound_item(came_item));
        if (read_valid && read_none) assert (read_begins & read_ends);

        // Groups follow each other: one begins where the one before has ended.
        if (waits[0]) assert (begins[0] == got_end);
        if (waits[1]) assert (begins[1] == ends[0]);
        if (waits[2]) assert (begins[2] == ends[1]);
        if (waits[3]) assert (begins[3] == ends[2]);
        if (came_valid) assert (came[1] == queue_ends);
        if (read_valid) assert (read_begins == came_ends);
        assert (walking ? walk_begins == newest_ends : newest_ends);
        assert (begun == (pair_valid ? ~pair_first : ~got_end));

        // A segment gives its pairs.
        if (pair_valid) begin
            assert (segment_last == got_end);
            assert (pair_first == (segment_begins && segment_done == @{addr_bits + 1}@'d0));
            if (pair_none) assert (pair_one && pair_first && segment_last);
            else begin
                assert (pair_at == segment_at + segment_done[@{addr_bits - 1}@:0]);
                assert (pair_left == segment_size - segment_done && segment_done < segment_size);
                assert (pair_one == (pair_left == @{addr_bits + 1}@'d1));
            end
        end
        if (go) assert (full[bank] && pair_first == ~begun);
        if (go && pair_one && !pair_none) assert (segment_done + @{addr_bits + 1}@'d1 == segment_size);
        if (group_done && !hold) assert (was_room);
    end

    // Reached states, so that the proof is not about nothing.
    always @(posedge clk) if (started && !rst) begin
        cover (group_done && !segment_begins && segment_done == @{addr_bits + 1}@'d1);
        cover (group_done && pair_none);
        cover (group_done && full == {TWO_BANKS, 1'b1});
    end
`endif
