    // Reads the result of a finished group from the lanes, word by word, and sends it as a packet. One group is under way at a
    // time: the lanes keep its result until it has been sent.
    localparam [7:0] RESULT = 8'h@{result}@;

    reg under_way;             // announced and not yet sent
    reg sending;
    // What is said of the group stands until then.
    wire [31:0] tag = finish_tag;
    wire [@{n_bits - 1}@:0] n = finish_n;
    reg [@{5 * lanes - 1}@:0] flags;
{%- if spread %}
    // What comes from the lanes comes through registers.
    reg [@{32 * units - 1}@:0] words;
    reg [@{5 * lanes - 1}@:0] lane_flags;
    reg arrives;
    always @(posedge clk) begin
        words <= r_data;
        lane_flags <= r_flags;
        arrives <= r_done & ~rst;
    end
{%- else %}
    wire [@{32 * units - 1}@:0] words = r_data;
    wire [@{5 * lanes - 1}@:0] lane_flags = r_flags;
    wire arrives = r_done;
{%- endif %}
    assign finish_ready = ~under_way;
    assign quiet = ~under_way;

    // The beat that is filled, word by word from below.
    reg [@{stream_bits - 1}@:0] beat;
    reg full;
    reg beat_last;
    wire leaves = full & q_ready;
    assign q_data = beat;
    assign q_valid = full;
    assign q_last = beat_last;
{%- if beat_words > 1 %}
    reg [@{beat_words - 1}@:0] place;      // of the next word
    wire fills = place[@{beat_words - 1}@];
{%- else %}
    wire fills = 1'b1;
{%- endif %}

    // The words in front of the records, and then those of each lane that has a target.
    reg heading;
    reg filling;               // the last beat is filled up with zeros
    reg [@{head_bits - 1}@:0] head_at;
    reg [@{n_bits - 1}@:0] lanes_left;
{%- if units > 1 %}
    reg [@{lanes - 1}@:0] lane;
{%- endif %}
    reg [@{at_bits - 1}@:0] at;
{%- if member_bits > 0 %}
    // Filters of a pipeline give their words through one port.
    reg [@{member_bits - 1}@:0] member;
    assign l_r_at = {member, at};
{%- else %}
    assign l_r_at = at;
{%- endif %}
    // A word is there some clocks after it is asked for.
    reg [@{wait_bits - 1}@:0] waits;
    wire there = heading | filling | (waits == @{wait_bits}@'d0);
    wire put = sending & ~full & there;
{%- if words_of.len() > 1 %}
    // The words of each adder of a lane follow on those of the one before.
    reg ends_adder;
    always @* begin
        case (at[@{at_bits - 1}@:@{word_bits}@])
{%- for words in words_of %}{% if !loop.last %}
            @{at_bits - word_bits}@'d@{loop.index0}@: ends_adder = at[@{word_bits - 1}@:0] == @{word_bits}@'d@{words - 1}@;
{%- endif %}{% endfor %}
            default: ends_adder = 1'b0;
        endcase
    end
    wire ends_record = at == {@{at_bits - word_bits}@'d@{words_of.len() - 1}@, @{word_bits}@'d@{last_words - 1}@};
    wire [@{at_bits - 1}@:0] next_at = ends_adder ? {at[@{at_bits - 1}@:@{word_bits}@] + @{at_bits - word_bits}@'d1, @{word_bits}@'d0}
        : at + @{at_bits}@'d1;
{%- else %}
    wire ends_record = at == @{at_bits}@'d@{last_words - 1}@;
    wire [@{at_bits - 1}@:0] next_at = at + @{at_bits}@'d1;
{%- endif %}
    wire ends_packet = filling | (~heading & ends_record & (lanes_left == @{n_bits}@'d1));
    wire ends_head = head_at == @{head_bits}@'d@{head_words - 1}@;
    wire [@{32 * head_words - 65}@:0] flag_words = {
{%- if flag_fill > 0 %}@{flag_fill}@'d0, {% endif -%}
{%- for lane in lanes_down %}3'd0, flags[@{5 * lane + 4}@:@{5 * lane}@]{% if !loop.last %}, {% endif %}{% endfor -%} };
    reg [31:0] word;
    always @* begin
        word = 32'd0;
        if (heading) begin
            case (head_at)
                @{head_bits}@'d0: word = {RESULT, @{24 - n_bits}@'d0, n};
                @{head_bits}@'d1: word = tag;
{%- for k in 2..head_words %}
                @{head_bits}@'d@{k}@: word = flag_words[@{32 * (k - 2) + 31}@:@{32 * (k - 2)}@];
{%- endfor %}
                default: ;
            endcase
        end else if (~filling) begin
{%- if units > 1 %}
{%- for k in 0..units %}
            word = word | (words[@{32 * k + 31}@:@{32 * k}@] & {32{ {%- if filters > 1 %}|lane[@{filters * k + filters - 1}@:@{filters * k}@]{% else %}lane[@{k}@]{% endif -%} }});
{%- endfor %}
{%- else %}
            word = words;
{%- endif %}
        end
    end

    always @(posedge clk) begin
        if (rst) begin
            under_way <= 1'b0;
            sending <= 1'b0;
            full <= 1'b0;
        end else begin
            if (finish) under_way <= 1'b1;
            else if (leaves & beat_last) under_way <= 1'b0;
            if (arrives) sending <= 1'b1;
            else if (put & ends_packet & fills) sending <= 1'b0;
            full <= full ? ~q_ready : put & fills;
        end
        if (arrives) begin
            flags <= lane_flags;
            lanes_left <= n;
            heading <= 1'b1;
            filling <= 1'b0;
            head_at <= @{head_bits}@'d0;
            at <= @{at_bits}@'d0;
            waits <= @{wait_bits}@'d@{wait}@;
{%- if units > 1 %}
            lane <= @{lanes}@'d1;
{%- endif %}
{%- if member_bits > 0 %}
            member <= @{member_bits}@'d0;
{%- endif %}
{%- if beat_words > 1 %}
            place <= @{beat_words}@'d1;
{%- endif %}
        end else begin
            if (put & heading) begin
                head_at <= head_at + @{head_bits}@'d1;
                if (ends_head) heading <= 1'b0;
            end
            if (put & ends_packet & ~fills) filling <= 1'b1;
            if (put & ~heading & ~filling) begin
                at <= ends_record ? @{at_bits}@'d0 : next_at;
                waits <= @{wait_bits}@'d@{wait}@;
                if (ends_record) begin
                    lanes_left <= lanes_left - @{n_bits}@'d1;
{%- if units > 1 %}
                    lane <= lane << 1;
{%- endif %}
{%- if member_bits > 0 %}
                    member <= (member == @{member_bits}@'d@{filters - 1}@) ? @{member_bits}@'d0 : member + @{member_bits}@'d1;
{%- endif %}
                end
            end else if (waits != @{wait_bits}@'d0) waits <= waits - @{wait_bits}@'d1;
{%- if beat_words > 1 %}
            if (put) place <= {place[@{beat_words - 2}@:0], fills};
{%- endif %}
        end
        if (put) begin
            beat <= {% if beat_words > 1 %}{word, beat[@{stream_bits - 1}@:32]}{% else %}word{% endif %};
            beat_last <= ends_packet;
        end
    end
    wire unused = &{1'b0, finish_beats};
