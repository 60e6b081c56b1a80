    // Streams pairs: walks the segment list of each group, reads the j memory, and sends each source on with `first`,
    // `last` and the group's bank and lanes. A pair a clock, whatever the lengths of segments and groups.

    // The groups that are loaded and not done, one for each bank of i registers.
    localparam SLOT = @{slot_bits}@;
    reg [SLOT-1:0] slot_0;
    reg [SLOT-1:0] slot_1;
    reg [1:0] full;
    reg [1:0] unwalked;
    wire group_empty = group_start == group_end;
    wire [@{ring_bits}@:0] group_count = group_end - group_start;
    wire [SLOT-1:0] slot =
        {group_empty, group_start, group_count, group_tag, group_n, group_beats, group_keep, group_hold, group_final};
    assign bank_full = full;

    // The walker reads the list ahead of the pairs, a segment a clock, into four places.
    reg walk_bank;
    reg walking;
    reg [@{ring_bits}@:0] walk_at;
    reg [@{ring_bits}@:0] walk_left;
    reg walk_begins;
    reg walk_ends;             // one segment is left
    reg [2:0] places;          // segments read and not yet taken
    wire [@{2 * ring_bits + 2}@:0] fresh = walk_bank ? slot_1[SLOT-1:SLOT-@{2 * ring_bits + 3}@] : slot_0[SLOT-1:SLOT-@{2 * ring_bits + 3}@];
    wire new_empty = fresh[@{2 * ring_bits + 2}@];
    wire [@{ring_bits}@:0] new_start = fresh[@{2 * ring_bits + 1}@:@{ring_bits + 1}@];
    wire [@{ring_bits}@:0] new_count = fresh[@{ring_bits}@:0];
    wire room = ~places[2];
    wire begin_walk = ~walking & unwalked[walk_bank];
    wire walk_none = begin_walk & new_empty & room;
    wire walk = walking & room;
    wire [@{ring_bits}@:0] walk_next = walk_at + @{ring_bits + 1}@'d1;
    wire walk_done = walk_none | (walk & walk_ends);
    assign walk_addr = walk_at[@{ring_bits - 1}@:0];

    // A segment on its way out of the list's memory and its output register.
    reg read_valid;
    reg read_none;
    reg read_begins;
    reg read_ends;
    reg [@{ring_bits}@:0] read_next;   // the list behind this segment
    reg came_valid;
    reg [@{ring_bits + 3}@:0] came;
    reg [@{2 * addr_bits + 1}@:0] came_word;   // one source, first, count
    localparam ITEM = @{item_bits}@;
    reg [ITEM-1:0] item_0;
    reg [ITEM-1:0] item_1;
    reg [ITEM-1:0] item_2;
    reg [ITEM-1:0] item_3;
    reg [1:0] put_at;
    reg [1:0] get_at;
    reg [2:0] waiting;         // segments in the four places
    wire came_one = came[2] | came_word[@{2 * addr_bits + 1}@];
    wire [ITEM-1:0] came_item = {came_one, came, came_word[@{2 * addr_bits}@:0]};
    reg [ITEM-1:0] item;
    always @* begin
        case (get_at)
            2'd0: item = item_0;
            2'd1: item = item_1;
            2'd2: item = item_2;
            default: item = item_3;
        endcase
    end
    wire item_valid = waiting != 3'd0;
    wire item_one = item[ITEM-1];      // no source or a single one
    wire item_none = item[@{2 * addr_bits + 3}@];
    wire [@{addr_bits}@:0] item_count = item[@{addr_bits}@:0];
    wire get;
    wire group_done;           // its last pair is sent
    reg bank;
{%- if ii > 1 %}

    // A pair goes every @{ii}@ clocks, so that a bank of i registers is read for as long after a group's last one has gone. The
    // counter sets itself right from any start.
    reg [@{wait_bits - 1}@:0] until_turn;
    initial until_turn = @{wait_bits}@'d0;
    wire turn = until_turn == @{wait_bits}@'d0;
    always @(posedge clk) until_turn <= turn ? @{wait_bits}@'d@{wait}@ : until_turn - @{wait_bits}@'d1;
    reg done_before;
    reg done_bank;
    always @(posedge clk) begin
        if (rst) done_before <= 1'b0;
        else if (turn) done_before <= group_done;
        if (turn) done_bank <= bank;
    end
    wire let_go = turn & done_before;
{%- endif %}

    always @(posedge clk) begin
        if (rst) begin
            full <= 2'd0;
            unwalked <= 2'd0;
            walk_bank <= 1'b0;
            walking <= 1'b0;
            places <= 3'd0;
            read_valid <= 1'b0;
            came_valid <= 1'b0;
            put_at <= 2'd0;
            get_at <= 2'd0;
            waiting <= 3'd0;
        end else begin
            full <= (full | {group_push & group_bank, group_push & ~group_bank})
{%- if ii > 1 %}
                & ~{let_go & done_bank, let_go & ~done_bank};
{%- else %}
                & ~{group_done & bank, group_done & ~bank};
{%- endif %}
            unwalked <= (unwalked | {group_push & group_bank, group_push & ~group_bank})
                & ~{walk_done & walk_bank, walk_done & ~walk_bank};
{%- if two_banks %}
            if (walk_done) walk_bank <= ~walk_bank;
{%- endif %}
            walking <= walking ? ~(walk & walk_ends) : (begin_walk & ~new_empty);
            places <= places + {2'd0, walk | walk_none} - {2'd0, get};
            read_valid <= walk | walk_none;
            came_valid <= read_valid;
            if (came_valid) put_at <= put_at + 2'd1;
            if (get) get_at <= get_at + 2'd1;
            waiting <= waiting + {2'd0, came_valid} - {2'd0, get};
        end
        if (group_push & ~group_bank) slot_0 <= slot;
        if (group_push & group_bank) slot_1 <= slot;
        if (~walking) begin
            walk_at <= new_start;
            walk_left <= new_count;
            walk_ends <= new_count == @{ring_bits + 1}@'d1;
            walk_begins <= 1'b1;
        end else if (walk) begin
            walk_at <= walk_next;
            walk_left <= walk_left - @{ring_bits + 1}@'d1;
            walk_ends <= walk_left == @{ring_bits + 1}@'d2;
            walk_begins <= 1'b0;
        end
        read_none <= walk_none;
        read_begins <= walk_none | walk_begins;
        read_ends <= walk_none | walk_ends;
        read_next <= walk_none ? new_start : walk_next;
        came <= {read_next, read_none, read_begins, read_ends};
        came_word <= walk_word;
        if (came_valid & (put_at == 2'd0)) item_0 <= came_item;
        if (came_valid & (put_at == 2'd1)) item_1 <= came_item;
        if (came_valid & (put_at == 2'd2)) item_2 <= came_item;
        if (came_valid & (put_at == 2'd3)) item_3 <= came_item;
    end

    // The pair that goes next, and the group it belongs to.
    reg pair_valid;
    reg pair_none;             // the group has no source: one cycle that adds nothing
    reg pair_first;
    reg pair_one;              // the segment's last source
    reg segment_last;          // the group's last segment
    reg [@{addr_bits - 1}@:0] pair_at;
    reg [@{addr_bits}@:0] pair_left;
    reg [@{ring_bits}@:0] list_next;
    wire [SLOT-2*@{ring_bits + 1}@-2:0] group =
        bank ? slot_1[SLOT-2*@{ring_bits + 1}@-2:0] : slot_0[SLOT-2*@{ring_bits + 1}@-2:0];
    wire final_group = group[0];
    wire hold = group[1];
    wire keep = group[2];
    wire [@{beats_bits - 1}@:0] beats = group[@{beats_bits + 2}@:3];
    wire [@{n_bits - 1}@:0] lanes = group[@{beats_bits + n_bits + 2}@:@{beats_bits + 3}@];
    wire [31:0] tag = group[@{beats_bits + n_bits + 34}@:@{beats_bits + n_bits + 3}@];

    // A group's last pair is withheld until its result has a place to go; the pipelines themselves never stop. Whether it
    // has one is known two cycles after the group before has ended.
    reg may_end;
    reg ended;
    wire pair_last = pair_one & segment_last;
    wire settled;
{%- if filters %}

    // Pairs are withheld while a queue behind a filter has no room for what is under way. Sums that were held and are not kept are
    // given up, and the pairs that still add to them must be gone before others begin.
    reg has_room;
    reg was_held;
    always @(posedge clk) begin
        has_room <= l_room & ~rst;
        if (rst) was_held <= 1'b0;
        else if (group_done) was_held <= hold;
    end
    wire passes = has_room & (~was_held | ~pair_first | keep | drained);
{%- endif %}
    wire go = pair_valid & settled & (~pair_last | may_end){% if ii > 1 %} & turn{% endif %}{% if filters %} & passes{% endif %};
    assign group_done = go & pair_last;
    reg finished;
    reg [31:0] finished_tag;
    reg [@{n_bits - 1}@:0] finished_n;
    reg [@{beats_bits - 1}@:0] finished_beats;
    assign finish = finished;
    assign finish_beats = finished_beats;
    assign finish_n = finished_n;
    assign finish_tag = finished_tag;
    always @(posedge clk) begin
{%- if filters %}
        // No pair of a group whose sums are held waits when another one takes the place of its targets.
        may_end <= (hold ? drained : finish_ready) & ~group_done & ~ended;
{%- else %}
        may_end <= (hold | finish_ready) & ~group_done & ~ended;
{%- endif %}
        ended <= group_done;
        finished <= group_done & ~hold & ~rst;
{%- if by_word %}
        // What is said of a result stands until it has been sent.
        if (group_done & ~hold) {finished_tag, finished_n, finished_beats} <= {tag, lanes, beats};
{%- else %}
        finished_tag <= tag;
        finished_n <= lanes;
        finished_beats <= beats;
{%- endif %}
    end
    assign get = item_valid & (~pair_valid | (go & pair_one));
    wire moves = ~pair_valid | go;
    wire renews = ~pair_valid | pair_one;
    // What is read in vain is not taken.
{%- if spread %}
    // The blocks of the memory stand far from each other: the address goes to them from registers that nothing else reads.
    reg read_now;
    reg [@{addr_bits - 1}@:0] read_at;
    always @(posedge clk) begin
        read_now <= pair_valid;
        read_at <= pair_at;
    end
    assign pair_read = read_now;
    assign pair_addr = read_at;
{%- else if near %}
    // Nothing is read until the next pair goes, so that the word stands still.
    assign pair_read = go;
    assign pair_addr = pair_at;
{%- else %}
    assign pair_read = pair_valid;
    assign pair_addr = pair_at;
{%- endif %}

    always @(posedge clk) begin
        if (rst) begin
            pair_valid <= 1'b0;
            bank <= 1'b0;
        end else begin
            pair_valid <= get | (pair_valid & ~(go & pair_one));
{%- if two_banks %}
            if (group_done) bank <= ~bank;
{%- endif %}
        end
        // Without a segment that waits, what is taken is never looked at.
        if (moves & renews) begin
            pair_at <= item[@{2 * addr_bits}@:@{addr_bits + 1}@];
            pair_left <= item_count;
            pair_none <= item_none;
            pair_one <= item_one;
            pair_first <= item[@{2 * addr_bits + 2}@];
            segment_last <= item[@{2 * addr_bits + 1}@];
            list_next <= item[@{2 * addr_bits + ring_bits + 4}@:@{2 * addr_bits + 4}@];
        end else if (moves) begin
            pair_at <= pair_at + @{addr_bits}@'d1;
            pair_left <= pair_left - @{addr_bits + 1}@'d1;
            pair_one <= pair_left == @{addr_bits + 1}@'d2;
            pair_first <= 1'b0;
        end
    end

    // Segments of a run's last group are free as soon as they are read.
    reg [@{ring_bits}@:0] tail;
    assign list_tail = tail;
    always @(posedge clk) begin
        if (rst) tail <= @{ring_bits + 1}@'d0;
        else if (list_free) tail <= list_write_at;
        else if (go & pair_one & final_group) tail <= list_next;
    end

    // New parameters settle in the pipelines before the next pair, and wait until the last one has left them.
{%- if has_params %}
    reg [@{settle_bits - 1}@:0] settling;
    assign settled = settling == @{settle_bits}@'d0;
    always @(posedge clk) begin
        if (rst) settling <= @{settle_bits}@'d0;
        else if (param_we) settling <= @{settle_bits}@'d@{settle}@;
        else if (~settled) settling <= settling - @{settle_bits}@'d1;
    end
{%- else %}
    assign settled = 1'b1;
{%- endif %}
    reg [@{drain_bits - 1}@:0] draining;
    assign drained = (draining == @{drain_bits}@'d0){% if filters %} & l_idle{% endif %};
    always @(posedge clk) begin
        if (rst) draining <= @{drain_bits}@'d0;
        else if (go) draining <= @{drain_bits}@'d@{drain}@;
        else if (~drained) draining <= draining - @{drain_bits}@'d1;
    end

{%- if near %}
    // The word leaves the j memory for the lane.
    reg [2:0] out;             // valid, first, last
    reg [@{n_bits - 1}@:0] out_lanes;
    reg [@{lanes - 1}@:0] out_active;
    always @(posedge clk) begin
        out <= {go & ~pair_none, go & pair_first & ~keep, group_done & ~hold} & ~{3{rst}};
        out_lanes <= lanes;
        out_active <= ~({@{lanes}@{1'b1}} << lanes);
    end
    assign {l_valid, l_first, l_last} = out;
    assign l_start = turn;
    assign l_bank = 1'b0;
    assign l_active = out_active;
    assign l_word = pair_word;

    // For the counters.
    assign count_valid = out[2];
    assign count_lanes = out_lanes;
{%- else %}
    // The j memory takes a clock, and its output register one; a third lets the word travel to the lanes, and all goes out
    // at once.
{%- if spread %}
    reg [3:0] sent;            // what `fetch` is a clock later
    reg [@{n_bits - 1}@:0] sent_lanes;
{%- endif %}
    reg [3:0] fetch;           // valid, first, last, bank
    reg [@{n_bits - 1}@:0] fetch_lanes;
    reg [3:0] word_beside;
    reg [@{lanes - 1}@:0] word_active;
    reg [@{j_bits - 1}@:0] word;
    reg [2:0] out;
    reg [@{lanes - 1}@:0] out_active;
    reg [@{j_bits - 1}@:0] out_word;
{%- if ii > 1 %}
    // The clock before a pair's first one, whether there is a pair or not.
    reg turn_1;
    reg turn_2;
{%- if spread %}
    reg turn_3;
    always @(posedge clk) turn_3 <= turn_2;
    assign l_start = turn_3;
{%- else %}
    assign l_start = turn_2;
{%- endif %}
{%- endif %}
    always @(posedge clk) begin
{%- if ii > 1 %}
        // The bank stands for as long as the pair's pins are read.
        @{first_stage}@ <= {go & ~pair_none, go & pair_first & ~keep, group_done & ~hold, go ? bank : @{first_stage}@[0]} & {~{3{rst}}, 1'b1};
{%- else %}
        @{first_stage}@ <= {go & ~pair_none, go & pair_first & ~keep, group_done & ~hold, bank} & {~{3{rst}}, 1'b1};
{%- endif %}
        @{first_stage}@_lanes <= lanes;
{%- if spread %}
        fetch <= sent & {~{3{rst}}, 1'b1};
        fetch_lanes <= sent_lanes;
{%- endif %}
        word_beside <= fetch & {~{3{rst}}, 1'b1};
        word_active <= ~({@{lanes}@{1'b1}} << fetch_lanes);
        word <= pair_word;
        out <= word_beside[3:1] & ~{3{rst}};
        out_active <= word_active;
{%- if ii > 1 %}
        if (word_beside[3]) out_word <= word;
        turn_1 <= turn;
        turn_2 <= turn_1;
{%- else %}
        out_word <= word;
{%- endif %}
    end
    assign {l_valid, l_first, l_last} = out;
    // The lanes have a register behind their banks.
    assign l_bank = word_beside[0];
    assign l_active = out_active;
    assign l_word = out_word;

    // For the counters.
    assign count_valid = fetch[3];
    assign count_lanes = fetch_lanes;
{%- endif %}
{% include "formal/sequence.v" %}
