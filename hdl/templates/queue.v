{%- match near -%}
{%- when Some with (near) %}    // Words wait in a memory with a register behind it, and the oldest of them are read ahead into a short queue: so the
    // memory's own path ends at that register.
{%- when None %}    // Words wait in a block memory; the oldest one is read ahead into `head`, so that both ends are registers.
{%- endmatch %}
    localparam [@{count_bits - 1}@:0] DEPTH = @{count_bits}@'d@{depth}@;
    // No word is read while it is written.
    @{attributes}@reg [@{width - 1}@:0] memory [0:@{depth - 1}@];
    reg [@{addr_bits - 1}@:0] write_at;
    reg [@{addr_bits - 1}@:0] read_at;
    reg [@{count_bits - 1}@:0] stored;
    reg some_stored;
    reg has_room;

    wire put = push & has_room;
    wire fetch;                // a word leaves the memory
    wire stays_some = put | (stored > @{count_bits}@'d1);
    wire more_some = put | (stored != @{count_bits}@'d0);
    wire [@{count_bits - 1}@:0] stored_next = stored + {{@{count_bits - 1}@{~put}}, 1'b1};
    assign ready = has_room;

    always @(posedge clk) begin
        if (put) memory[write_at] <= wdata;
        if (rst) begin
            write_at <= @{addr_bits}@'d0;
            read_at <= @{addr_bits}@'d0;
            stored <= @{count_bits}@'d0;
            some_stored <= 1'b0;
            has_room <= 1'b0;
        end else begin
            if (put) write_at <= write_at + @{addr_bits}@'d1;
            if (fetch) read_at <= read_at + @{addr_bits}@'d1;
            if (put ^ fetch) stored <= stored_next;
            some_stored <= fetch ? stays_some : more_some;
            // Without what leaves now: near full, room is told a cycle late.
            has_room <= put ? (stored != DEPTH - @{count_bits}@'d1) : (stored != DEPTH);
        end
    end
{%- match near -%}
{%- when Some with (near) %}

    reg [4:0] places;          // that are free in the short queue
    reg some_places;
    reg [@{width - 1}@:0] word;
    reg [@{width - 1}@:0] word_out;
    reg word_valid;
    reg out_valid;
    wire left = valid & pop;
    wire [4:0] places_next = places + {{4{fetch}}, 1'b1};
    assign fetch = some_stored & some_places;
    always @(posedge clk) begin
        word <= memory[read_at];
        word_out <= word;
        if (rst) begin
            places <= 5'd16;
            some_places <= 1'b1;
            word_valid <= 1'b0;
            out_valid <= 1'b0;
        end else begin
            if (fetch ^ left) places <= places_next;
            some_places <= fetch ? (left | (places > 5'd1)) : (left | (places != 5'd0));
            word_valid <= fetch;
            out_valid <= word_valid;
        end
    end

    wire near_ready;
    @{near}@ near (
        .clk(clk),
        .rst(rst),
        .wdata(word_out),
        .push(out_valid),
        .ready(near_ready),
        .rdata(rdata),
        .valid(valid),
        .pop(pop)
    );
    // No more words are fetched than have a place.
    wire unused = &{1'b0, near_ready};
{%- when None %}

    reg [@{width - 1}@:0] head;
    reg head_valid;
    // Whether a word leaves is known last, so nothing but a choice waits for it.
    assign fetch = some_stored & (~head_valid | pop);
    assign valid = head_valid;
    assign rdata = head;
    always @(posedge clk) begin
        if (fetch) head <= memory[read_at];
        if (rst) head_valid <= 1'b0;
        else head_valid <= fetch | (head_valid & ~pop);
    end
{% include "formal/queue.v" %}
{%- endmatch %}
