    // Puts the answers into words, each behind the number of its words, and these into beats of the memory. Answers that do not fit
    // whole are dropped, and all behind them.
    localparam [7:0] RESULT = 8'h@{result}@;
    localparam [7:0] STATUS = 8'h@{status_reply}@;
    localparam [7:0] END    = 8'h@{end_reply}@;

    localparam [2:0] HEAD   = 3'd0;
    localparam [2:0] LENGTH = 3'd1;
    localparam [2:0] PLACE  = 3'd2; // is there a place for it
    localparam [2:0] COUNT  = 3'd3;
    localparam [2:0] WORDS  = 3'd4;
    localparam [2:0] DROP   = 3'd5;
    localparam [2:0] REST   = 3'd6; // what fills no beat
    localparam [2:0] DONE   = 3'd7;
    reg [2:0] state;
    reg is_result;
    reg is_status;
    reg is_end;
    reg error_bit;
    reg [7:0] targets;
    reg [23:0] length;
    reg [30:0] used_next;
    reg [23:0] rest;              // words of the packet that are still to come
    reg [29:0] used;
    reg no_room;
    reg error_seen;
    assign full = no_room;
    assign protocol_error = error_seen;
    assign written_words = used;
    assign gathered = state == DONE;

    // Questions that wait for an answer, and those of them that are the last ones and not the host's.
    reg [6:0] due;
    reg [1:0] own;
    reg is_own;
    reg judged;                   // `used_next` is told a clock late
    wire answer = (state == PLACE) & judged & ~is_result;

    wire fits = used_next <= {1'b0, result_words};
    wire ready = gather_ready;
    wire sends = (state == WORDS) & from_valid & ready;
    assign from_pop = sends | ((state == DROP) & from_valid);

    // What goes into beats: `new_count` words.
{%- if stream_words == 1 %}
    wire [31:0] new_words = (state == COUNT) ? {8'd0, length} : from_beat[31:0];
    wire puts = ready & ((state == COUNT) | sends);
{%- else %}
    wire [@{stream_bits - 1}@:0] new_words = (state == COUNT) ? {@{stream_bits - 32}@'d0, 8'd0, length} : from_beat[@{stream_bits - 1}@:0];
    wire puts = ready & ((state == COUNT) | sends);
    wire last_beat = rest <= 24'd@{stream_words}@;
    wire [@{stream_word_bits}@:0] new_count = (state == COUNT) ? @{stream_word_bits + 1}@'d1 : (last_beat ? rest[@{stream_word_bits}@:0] : @{stream_word_bits + 1}@'d@{stream_words}@);
{%- endif %}
{%- if beat_words == 1 %}
    assign gather_beat = {1'b1, new_words};
    assign gather_push = puts;
    wire some = 1'b0;
{%- else %}
    reg [@{beat_words - 1}@:0] strobes;  // of the words of the beat that are there
    reg [@{beat_words * 32 - 1}@:0] beat;
    reg [@{word_bits - 1}@:0] place;
    reg [@{beat_words * 32 + stream_bits - 1}@:0] joined;
    always @* begin
        case (place)
{%- for (k, words) in joins %}
            @{word_bits}@'d@{k}@: joined = @{words}@;
{%- endfor %}
            default: joined = {@{beat_words * 32}@'d0, new_words};
        endcase
    end
    always @* begin
        case (place)
{%- for (k, mask) in masks %}
            @{word_bits}@'d@{k}@: strobes = @{mask}@;
{%- endfor %}
            default: strobes = {@{beat_words}@{1'b1}};
        endcase
    end
    wire some = place != @{word_bits}@'d0;
    wire [@{word_bits}@:0] place_next = {1'b0, place} + {% if stream_words == 1 %}@{word_bits + 1}@'d1{% else if word_bits == stream_word_bits %}new_count{% else %}{@{word_bits - stream_word_bits}@'d0, new_count}{% endif %};
    wire fills = puts & place_next[@{word_bits}@];
    assign gather_beat = (state == REST) ? {strobes, beat} : {{@{beat_words}@{1'b1}}, joined[@{beat_words * 32 - 1}@:0]};
    assign gather_push = fills | ((state == REST) & ready & some);
    always @(posedge clk) begin
        if (rst | clear) place <= @{word_bits}@'d0;
        else if (puts) place <= place_next[@{word_bits - 1}@:0];
        if (fills) beat <= {{% if beat_words > stream_words %}@{beat_words * 32 - stream_bits}@'d0, {% endif %}joined[@{beat_words * 32 + stream_bits - 1}@:@{beat_words * 32}@]};
        else if (puts) beat <= joined[@{beat_words * 32 - 1}@:0];
    end
{%- endif %}

    always @(posedge clk) begin
        if (state == HEAD) begin
            is_result <= from_beat[31:24] == RESULT;
            is_status <= from_beat[31:24] == STATUS;
            is_end <= from_beat[31:24] == END;
            error_bit <= from_beat[0];
            targets <= from_beat[7:0];
        end
        if (state == LENGTH) begin
            if (is_result) length <= 24'd@{result_head}@ + {16'd0, targets} * 24'd@{result_record}@;
            else if (is_status) length <= 24'd@{status_length}@;
            else length <= is_end ? 24'd@{end_length}@ : 24'd@{ident_length}@;
        end
        judged <= (state == PLACE) & ~judged;
        is_own <= ~is_result & (own != 2'd0) & (due == {5'd0, own});
        used_next <= {1'b0, used} + {7'd0, length} + 31'd1;
        if (state == COUNT) rest <= length;
        else if (sends) rest <= rest - 24'd@{stream_words}@;

        if (rst | clear) begin
            state <= HEAD;
            due <= 7'd0;
            own <= 2'd0;
            used <= 30'd0;
            no_room <= 1'b0;
            error_seen <= 1'b0;
        end else begin
            due <= due + {6'd0, asked} - {6'd0, answer};
            own <= own + {1'b0, asked_own} - {1'b0, answer & is_own};
            case (state)
                HEAD: if (from_valid) state <= LENGTH;
                LENGTH: state <= PLACE;
                PLACE: if (judged) state <= (is_own | no_room | ~fits) ? DROP : COUNT;
                COUNT: if (ready) state <= WORDS;
                WORDS: if (sends & from_beat[@{stream_bits}@]) state <= HEAD;
                DROP: if (from_valid & from_beat[@{stream_bits}@]) state <= (is_own & is_end) ? REST : HEAD;
                REST: if (ready | ~some) state <= DONE;
                default: ;
            endcase
            if ((state == PLACE) & judged) begin
                if (~is_own & ~fits) no_room <= 1'b1;
                if (~is_own & ~no_room & fits) used <= used_next[29:0];
                if (is_status & error_bit) error_seen <= 1'b1;
            end
        end
    end
