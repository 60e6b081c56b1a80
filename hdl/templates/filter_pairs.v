    // Sources are numbered as they come, and stand in a memory of @{ring}@ by their numbers. What the filters say of each waits here,
    // one word a source that any of them passes: the pipeline takes the pairs of a word one after the other, a pair a clock. Since
    // words stay in order, a group of targets has ended with its last source's word.
    reg [@{number_bits - 1}@:0] number;
    assign source_number = number;
    wire push = (|passes) | last;
    wire @{word}@ came = {came_number, came_tag, last, passes};
    wire @{word}@ next;
    wire some;
    wire never_full;
    reg waits;                 // a word, and what is left of it
    reg [@{filters - 1}@:0] left;
    reg ends_group;
    reg @{tag}@ tag;
    reg [@{number_bits - 1}@:0] at;
    wire [@{filters - 1}@:0] first = left & (~left + @{filters}@'d1);
    wire [@{filters - 1}@:0] others = left & ~first;
    wire done = waits & ~|others;
    wire take = ~waits | done;
    @{queue}@ words (
        .clk(clk),
        .rst(rst),
        .wdata(came),
        .push(push),
        .ready(never_full),
        .rdata(next),
        .valid(some),
        .pop(take)
    );
    integer n;
    reg [@{lane_bits - 1}@:0] first_lane;
    always @* begin
        first_lane = @{lane_bits}@'d0;
        for (n = 0; n < @{filters}@; n = n + 1)
            first_lane = first_lane | (n[@{lane_bits - 1}@:0] & {@{lane_bits}@{first[n]}});
    end
    reg leaves;
    reg [@{lane_bits - 1}@:0] leaves_lane;
    reg leaves_last;
    reg @{tag}@ leaves_tag;
    reg [@{number_bits - 1}@:0] leaves_number;
    assign pair = leaves;
    assign pair_lane = leaves_lane;
    assign pair_tag = leaves_tag;
    assign pair_number = leaves_number;
    assign ends = leaves_last;
    always @(posedge clk) begin
        if (rst) begin
            number <= @{number_bits}@'d0;
            waits <= 1'b0;
            leaves <= 1'b0;
            leaves_last <= 1'b0;
        end else begin
            if (source) number <= number + @{number_bits}@'d1;
            if (take) waits <= some;
            leaves <= waits & (|left);
            leaves_last <= done & ends_group;
        end
        if (take) {at, tag, ends_group, left} <= next;
        else left <= others;
        leaves_lane <= first_lane;
        leaves_tag <= tag;
        leaves_number <= at;
    end

    // Words that wait, and the oldest source that may still be read: no other one takes its place while sources are withheld in time.
    // So there is never a word without a place in the queue either, which is as long.
    localparam [@{number_bits - 1}@:0] LIMIT = @{number_bits}@'d@{limit}@;
    reg [@{number_bits}@:0] waiting;
    reg [@{number_bits - 1}@:0] oldest;
    reg [@{number_bits - 1}@:0] behind;
    reg has_room;
    wire empty = waiting == @{number_bits + 1}@'d0;
    assign room = has_room;
    assign none = empty & ~leaves & ~leaves_last;
    always @(posedge clk) begin
        if (rst) begin
            waiting <= @{number_bits + 1}@'d0;
            oldest <= @{number_bits}@'d0;
            behind <= @{number_bits}@'d0;
            has_room <= 1'b0;
        end else begin
            waiting <= waiting + {@{number_bits}@'d0, push} - {@{number_bits}@'d0, done};
            if (waits) oldest <= at;
            else if (empty) oldest <= came_number;
            behind <= number - oldest;
            has_room <= behind < LIMIT;
        end
    end
    wire unused = &{1'b0, never_full};
