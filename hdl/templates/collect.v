    // Takes the results of a finished group from the lanes and sends them as a packet.
    localparam [7:0] RESULT = 8'h@{result}@;

    // Groups whose last pair is on its way: what their packets begin with.
    wire [@{meta_bits - 1}@:0] meta;
    wire meta_ready;
    wire meta_valid;
    reg [4:0] under_way;
    @{prefix}@_fifo_@{meta_bits}@x16 groups (
        .clk(clk),
        .rst(rst),
        .wdata({finish_tag, finish_n, finish_beats}),
        .push(finish),
        .ready(meta_ready),
        .rdata(meta),
        .valid(meta_valid),
        .pop(r_done)
    );
    wire [31:0] tag = meta[@{meta_bits - 1}@:@{n_bits + beats_bits}@];
    wire [@{n_bits - 1}@:0] n = meta[@{n_bits + beats_bits - 1}@:@{beats_bits}@];
    wire [@{beats_bits - 1}@:0] beats = meta[@{beats_bits - 1}@:0];
    wire [@{lanes - 1}@:0] occupied = ~({@{lanes}@{1'b1}} << n);

    // The packet as a whole; it leaves `packet` a beat a clock. Lanes without a target send zeros. Flags take a clock more
    // than sums.
    reg [@{packet_bits - 1}@:0] packet;
    reg [@{beats_bits - 1}@:0] left;
    reg landed;
    reg [@{5 * lanes - 1}@:0] flags;
    wire none_left = left == @{beats_bits}@'d0;
    wire sending = ~none_left & ~landed;
    wire [@{packet_bits - 1}@:0] result_packet;
    assign result_packet[63:0] = {tag, RESULT, @{24 - n_bits}@'d0, n};
    assign result_packet[@{head_words * 32 - 1}@:64] = @{32 * head_words - 64}@'d0;
    wire [@{32 * head_words - 65}@:0] flag_words = {
{%- if flag_fill > 0 %}@{flag_fill}@'d0, {% endif -%}
{%- for lane in lanes_down %}3'd0, flags[@{5 * lane + 4}@:@{5 * lane}@]{% if !loop.last %}, {% endif %}{% endfor -%} };
    genvar lane;
    generate
        for (lane = 0; lane < @{lanes}@; lane = lane + 1) begin : results
            assign result_packet[@{head_words * 32}@ + @{record_bits}@ * lane +: @{record_bits}@] =
                r_data[@{record_bits}@ * lane +: @{record_bits}@] & {@{record_bits}@{occupied[lane]}};
        end
    endgenerate
{%- if packet_fill > 0 %}
    assign result_packet[@{packet_bits - 1}@:@{packet_bits - packet_fill}@] = @{packet_fill}@'d0;
{%- endif %}

    // A result is announced only when the one before has left `packet`, and when `queue` has room for all of it. The
    // sequencer looks at it from two cycles after the one before on.
    reg [@{beats_bits - 1}@:0] spacing;
    reg [@{room_bits - 1}@:0] room;
    wire spaced = spacing == @{beats_bits}@'d0;
    wire popped = q_valid & q_ready;
    assign finish_ready = spaced & ~under_way[4] & (room >= {@{room_bits - beats_bits}@'d0, finish_beats});
    assign quiet = (room == @{room_bits}@'d@{queue_depth}@) & (under_way == 5'd0) & spaced & none_left;
    wire [@{beats_bits - 1}@:0] taken = finish ? finish_beats : @{beats_bits}@'d0;
    wire [@{room_bits - 1}@:0] room_freed = {@{room_bits - 1}@'d0, popped};

    always @(posedge clk) begin
        landed <= r_done & ~rst;
        flags <= r_flags;
        if (r_done) packet <= result_packet;
        else if (landed) packet[@{head_words * 32 - 1}@:64] <= flag_words;
        else if (sending) packet <= packet >> @{stream_bits}@;

        if (rst) begin
            left <= @{beats_bits}@'d0;
            spacing <= @{beats_bits}@'d0;
            room <= @{room_bits}@'d@{queue_depth}@;
            under_way <= 5'd0;
        end else begin
            if (r_done) left <= beats;
            else if (sending) left <= left - @{beats_bits}@'d1;
            if (finish) spacing <= finish_beats - @{beats_bits}@'d1;
            else if (~spaced) spacing <= spacing - @{beats_bits}@'d1;
            room <= room - {@{room_bits - beats_bits}@'d0, taken} + room_freed;
            under_way <= under_way + {4'd0, finish} - {4'd0, r_done};
        end
    end

    wire [@{stream_bits}@:0] beat;
    wire queue_ready;
    @{prefix}@_fifo_@{stream_bits + 1}@x@{queue_depth}@ queue (
        .clk(clk),
        .rst(rst),
        .wdata({left == @{beats_bits}@'d1, packet[@{stream_bits - 1}@:0]}),
        .push(sending),
        .ready(queue_ready),
        .rdata(beat),
        .valid(q_valid),
        .pop(q_ready)
    );
    assign q_data = beat[@{stream_bits - 1}@:0];
    assign q_last = beat[@{stream_bits}@];
    // Reservations keep both queues from overflowing.
    wire unused = &{1'b0, meta_ready, meta_valid, queue_ready};
