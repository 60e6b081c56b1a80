    // Words wait in a block memory; the oldest one is read ahead into `head`, so that both ends are registers.
    localparam [@{count_bits - 1}@:0] DEPTH = @{count_bits}@'d@{depth}@;
    // No word is read while it is written.
    (* no_rw_check *) reg [@{width - 1}@:0] memory [0:@{depth - 1}@];
    reg [@{addr_bits - 1}@:0] write_at;
    reg [@{addr_bits - 1}@:0] read_at;
    reg [@{count_bits - 1}@:0] stored;
    reg [@{width - 1}@:0] head;
    reg head_valid;
    reg has_room;

    wire put = push & has_room;
    wire fetch = (stored != @{count_bits}@'d0) & (~head_valid | pop);
    wire [@{count_bits - 1}@:0] stored_next =
        stored + {@{count_bits - 1}@'d0, put} - {@{count_bits - 1}@'d0, fetch};

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
            head_valid <= 1'b0;
            has_room <= 1'b0;
        end else begin
            if (put) write_at <= write_at + @{addr_bits}@'d1;
            if (fetch) read_at <= read_at + @{addr_bits}@'d1;
            stored <= stored_next;
            head_valid <= fetch | (head_valid & ~pop);
            // Without what leaves now: near full, room is told a cycle late.
            has_room <= (stored + {@{count_bits - 1}@'d0, put}) != DEPTH;
        end
    end
{% include "formal/fifo.v" %}
