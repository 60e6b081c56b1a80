    // Words wait in a block memory; the oldest one is read ahead into `head`, so that both ends are registers.
    localparam [@{count_bits - 1}@:0] DEPTH = @{count_bits}@'d@{depth}@;
    // No word is read while it is written.
    @{attributes}@reg [@{width - 1}@:0] memory [0:@{depth - 1}@];
    reg [@{addr_bits - 1}@:0] write_at;
    reg [@{addr_bits - 1}@:0] read_at;
    reg [@{count_bits - 1}@:0] stored;
    reg some_stored;
    reg [@{width - 1}@:0] head;
    reg head_valid;
    reg has_room;

    wire put = push & has_room;
    // Whether a word leaves is known last, so nothing but a choice waits for it.
    wire fetch = some_stored & (~head_valid | pop);
    wire stays_some = put | (stored > @{count_bits}@'d1);
    wire more_some = put | (stored != @{count_bits}@'d0);
    wire [@{count_bits - 1}@:0] stored_next = stored + {{@{count_bits - 1}@{~put}}, 1'b1};

    assign ready = has_room;
    assign valid = head_valid;
    assign rdata = head;

    always @(posedge clk) begin
        if (put) memory[write_at] <= wdata;
        if (fetch) head <= memory[read_at];
    end

    always @(posedge clk) begin
        if (rst) begin
            write_at <= @{addr_bits}@'d0;
            read_at <= @{addr_bits}@'d0;
            stored <= @{count_bits}@'d0;
            some_stored <= 1'b0;
            head_valid <= 1'b0;
            has_room <= 1'b0;
        end else begin
            if (put) write_at <= write_at + @{addr_bits}@'d1;
            if (fetch) read_at <= read_at + @{addr_bits}@'d1;
            if (put ^ fetch) stored <= stored_next;
            some_stored <= fetch ? stays_some : more_some;
            head_valid <= fetch | (head_valid & ~pop);
            // Without what leaves now: near full, room is told a cycle late.
            has_room <= put ? (stored != DEPTH - @{count_bits}@'d1) : (stored != DEPTH);
        end
    end
{% include "formal/fifo.v" %}
