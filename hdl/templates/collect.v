    // Takes the results of a finished group from the lanes and sends them as a packet.
    localparam [7:0] RESULT = 8'h@{result}@;

    // Groups whose last pair is on its way: what their packets begin with.
    wire [@{meta_bits - 1}@:0] meta;
    wire meta_ready;
    wire meta_valid;
    wire arrives;              // the result of the oldest group
    reg [4:0] under_way;
    @{prefix}@_fifo_@{meta_bits}@x16 groups (
        .clk(clk),
        .rst(rst),
        .wdata({finish_tag, finish_n, finish_beats}),
        .push(finish),
        .ready(meta_ready),
        .rdata(meta),
        .valid(meta_valid),
        .pop(arrives)
    );
    wire [31:0] tag = meta[@{meta_bits - 1}@:@{n_bits + beats_bits}@];
    wire [@{n_bits - 1}@:0] n = meta[@{n_bits + beats_bits - 1}@:@{beats_bits}@];
    wire [@{beats_bits - 1}@:0] beats = meta[@{beats_bits - 1}@:0];
    wire [@{lanes - 1}@:0] occupied = ~({@{lanes}@{1'b1}} << n);

    // The packet as a whole; it leaves `packet` a beat a clock. Lanes without a target send zeros. Flags take a clock more
    // than sums.
    @{packet_kind}@ [@{packet_bits - 1}@:0] packet;
    reg [@{beats_bits - 1}@:0] left;
    reg landed;
    reg [@{5 * lanes - 1}@:0] flags;
    wire none_left = left == @{beats_bits}@'d0;
{%- if spread %}
    // Results come through registers, and each lane's part of the packet has its own ones that say what it does: so it can
    // stand beside the lane.
    reg [@{lanes * record_bits - 1}@:0] record;
    reg [@{5 * lanes - 1}@:0] record_flags;
    reg done;
    reg sending;
    // Behind the clock in which a packet comes there is one for its flags.
    wire sends = ~done & (sending ? (left != @{beats_bits}@'d1) : ~none_left);
    assign arrives = done;
    always @(posedge clk) begin
        record <= r_data;
        record_flags <= r_flags;
        done <= r_done & ~rst;
        sending <= sends & ~rst;
    end
{%- else %}
    wire [@{lanes * record_bits - 1}@:0] record = r_data;
    wire [@{5 * lanes - 1}@:0] record_flags = r_flags;
    wire sending = ~none_left & ~landed;
    assign arrives = r_done;
{%- endif %}
    wire [@{32 * head_words - 65}@:0] flag_words = {
{%- if flag_fill > 0 %}@{flag_fill}@'d0, {% endif -%}
{%- for lane in lanes_down %}3'd0, flags[@{5 * lane + 4}@:@{5 * lane}@]{% if !loop.last %}, {% endif %}{% endfor -%} };
    wire [@{head_words * 32 - 1}@:0] result_head = {@{32 * head_words - 64}@'d0, tag, RESULT, @{24 - n_bits}@'d0, n};
    genvar lane;
{%- if spread %}
    wire [@{packet_bits - 1}@:0] rest = packet >> @{stream_bits}@;
    reg [@{head_words * 32 - 1}@:0] head;
    assign packet[@{head_words * 32 - 1}@:0] = head;
    always @(posedge clk) begin
        if (arrives) head <= result_head;
        else if (landed) head[@{head_words * 32 - 1}@:64] <= flag_words;
        else if (sending) head <= rest[@{head_words * 32 - 1}@:0];
    end
    generate
        for (lane = 0; lane < @{lanes}@; lane = lane + 1) begin : results
            reg occupies;
            (* keep, dont_merge *) reg loads;
            (* keep, dont_merge *) reg shifts;
            reg [@{record_bits - 1}@:0] part;
            assign packet[@{head_words * 32}@ + @{record_bits}@ * lane +: @{record_bits}@] = part;
            always @(posedge clk) occupies <= occupied[lane];
            (* keep *) always @(posedge clk) loads <= r_done & ~rst;
            (* keep *) always @(posedge clk) shifts <= sends & ~rst;
            always @(posedge clk) begin
                if (loads) part <= record[@{record_bits}@ * lane +: @{record_bits}@] & {@{record_bits}@{occupies}};
                else if (shifts) part <= rest[@{head_words * 32}@ + @{record_bits}@ * lane +: @{record_bits}@];
            end
        end
    endgenerate
{%- if packet_fill > 0 %}
    assign packet[@{packet_bits - 1}@:@{packet_bits - packet_fill}@] = @{packet_fill}@'d0;
{%- endif %}
{%- else %}
    wire [@{packet_bits - 1}@:0] result_packet;
    assign result_packet[@{head_words * 32 - 1}@:0] = result_head;
    generate
        for (lane = 0; lane < @{lanes}@; lane = lane + 1) begin : results
            assign result_packet[@{head_words * 32}@ + @{record_bits}@ * lane +: @{record_bits}@] =
                record[@{record_bits}@ * lane +: @{record_bits}@] & {@{record_bits}@{occupied[lane]}};
        end
    endgenerate
{%- if packet_fill > 0 %}
    assign result_packet[@{packet_bits - 1}@:@{packet_bits - packet_fill}@] = @{packet_fill}@'d0;
{%- endif %}
    always @(posedge clk) begin
        if (arrives) packet <= result_packet;
        else if (landed) packet[@{head_words * 32 - 1}@:64] <= flag_words;
        else if (sending) packet <= packet >> @{stream_bits}@;
    end
{%- endif %}

    // A result is announced only when the one before has left `packet`, and when `queue` has room for all of it. The
    // sequencer looks at it from two cycles after the one before on.
    reg [@{beats_bits - 1}@:0] spacing;
    reg [@{room_bits - 1}@:0] room;
    wire spaced = spacing == @{beats_bits}@'d0;
    wire leaves_queue;
    wire queue_valid;
    wire popped = queue_valid & leaves_queue;
    assign finish_ready = spaced & ~under_way[4] & (room >= {@{room_bits - beats_bits}@'d0, finish_beats});
    assign quiet = (room == @{room_bits}@'d@{queue_depth}@) & (under_way == 5'd0) & spaced & none_left{% if spread %} & ~q_valid{% endif %};
    wire [@{beats_bits - 1}@:0] taken = finish ? finish_beats : @{beats_bits}@'d0;
    wire [@{room_bits - 1}@:0] room_freed = {@{room_bits - 1}@'d0, popped};

    always @(posedge clk) begin
        landed <= arrives & ~rst;
        flags <= record_flags;

        if (rst) begin
            left <= @{beats_bits}@'d0;
            spacing <= @{beats_bits}@'d0;
            room <= @{room_bits}@'d@{queue_depth}@;
            under_way <= 5'd0;
        end else begin
            if (arrives) left <= beats;
            else if (sending) left <= left - @{beats_bits}@'d1;
            if (finish) spacing <= finish_beats - @{beats_bits}@'d1;
            else if (~spaced) spacing <= spacing - @{beats_bits}@'d1;
            room <= room - {@{room_bits - beats_bits}@'d0, taken} + room_freed;
            under_way <= under_way + {4'd0, finish} - {4'd0, arrives};
        end
    end

    wire [@{stream_bits}@:0] beat;
    wire queue_ready;
    @{prefix}@_@{queue_kind}@_@{stream_bits + 1}@x@{queue_depth}@ queue (
        .clk(clk),
        .rst(rst),
        .wdata({left == @{beats_bits}@'d1, packet[@{stream_bits - 1}@:0]}),
        .push(sending),
        .ready(queue_ready),
        .rdata(beat),
        .valid(queue_valid),
        .pop(leaves_queue)
    );
{%- if spread %}
    // Whoever takes the words stands far away.
    @{prefix}@_relay_@{stream_bits + 1}@ outside (
        .clk(clk),
        .rst(rst),
        .wdata(beat),
        .push(queue_valid),
        .ready(leaves_queue),
        .rdata({q_last, q_data}),
        .valid(q_valid),
        .pop(q_ready)
    );
{%- else %}
    assign {q_last, q_data} = beat;
    assign q_valid = queue_valid;
    assign leaves_queue = q_ready;
{%- endif %}
    // Reservations keep both queues from overflowing.
    wire unused = &{1'b0, meta_ready, meta_valid, queue_ready{% if spread && packet_fill > 0 %}, rest[@{packet_bits - 1}@:@{packet_bits - packet_fill}@]{% endif %}};
