    // Cuts the commands into packets: a word with the number of words stands in front of each. Behind the last one goes a question
    // for the engine's error bit, and END. Words that are no packet are never sent.
    localparam [7:0] STATUS = 8'h@{status}@;
    localparam [7:0] END    = 8'h@{end}@;
    localparam [7:0] IDENT  = 8'h@{ident}@;

    localparam [3:0] IDLE  = 4'd0;
    localparam [3:0] COUNT = 4'd1; // take the number of words
    localparam [3:0] CHECK = 4'd2; // judge it
    localparam [3:0] WORDS = 4'd3; // send them
    localparam [3:0] SHORT = 4'd4; // what could not be read: the packet ends too early
    localparam [3:0] LONG  = 4'd5; // or too late, and so the engine discards it
    localparam [3:0] ASK   = 4'd6;
    localparam [3:0] CLOSE = 4'd7;
    localparam [3:0] DONE  = 4'd8;
    reg [3:0] state;
    reg [29:0] left;          // words behind this packet
    reg [31:0] count;
    reg [24:0] packet;        // words of the packet that are still to be sent
    reg head;                 // none has been sent
    reg final_beat;
    reg bad_packet;
    reg bad_read;
    reg [29:0] done_words;
    assign malformed = bad_packet;
    assign read_error = bad_read;
    assign taken_words = done_words;
    assign stop = (state == ASK) | (state == CLOSE) | (state == DONE);
    assign fed = state == DONE;

    // The words in view.
    wire take;                // take what is wanted
{%- if beat_words == 1 %}
    wire enough = feed_valid;
    wire broken = feed_beat[32];
    wire [31:0] window = feed_beat[31:0];
    assign feed_pop = take;
{%- else %}
    // Packets straddle beats, so the view is `place` words into the beat `view` and the one behind it.
    reg [@{beat_words * 32}@:0] view;
    reg view_valid;
    reg [@{word_bits - 1}@:0] place;
    wire [@{word_bits}@:0] wanted;
    reg [@{stream_bits - 1}@:0] window;
    always @* begin
        case (place)
{%- for (k, words) in windows %}
            @{word_bits}@'d@{k}@: window = @{words}@;
{%- endfor %}
            default: window = view[@{stream_bits - 1}@:0];
        endcase
    end
    wire [@{word_bits}@:0] place_next = {1'b0, place} + wanted;
    wire straddles = place_next > @{word_bits + 1}@'d@{beat_words}@;
    wire enough = view_valid & (~straddles | feed_valid);
    wire broken = view[@{beat_words * 32}@] | (straddles & feed_beat[@{beat_words * 32}@]);
    wire advance = (take & place_next[@{word_bits}@]) | ~view_valid;
    assign feed_pop = feed_valid & advance;
    always @(posedge clk) begin
        if (advance) view <= feed_beat;
        if (rst | clear) begin
            view_valid <= 1'b0;
            place <= @{word_bits}@'d0;
        end else begin
            if (advance) view_valid <= feed_valid;
            if (take) place <= place_next[@{word_bits - 1}@:0];
        end
    end
{%- if stream_words == 1 %}
    assign wanted = @{word_bits + 1}@'d1;
{%- else %}
    assign wanted = (state == COUNT) ? @{word_bits + 1}@'d1 : (final_beat ? packet[@{word_bits}@:0] : @{word_bits + 1}@'d@{stream_words}@);
{%- endif %}
{%- endif %}

    wire good = enough & ~broken;
    wire counts = (state == COUNT) & (left != 30'd0) & good;
    wire sends = (state == WORDS) & good;
    wire own = (state == ASK) | (state == CLOSE);
    wire breaks = (state == SHORT) | (state == LONG);
    wire moves = to_push & to_ready;
    assign take = counts | (sends & to_ready);
    assign to_push = sends | own | breaks;
    wire last = breaks ? (state == SHORT) : (own | final_beat);
    // The last beat is filled up with zeros.
{%- for w in 1..stream_words %}
    wire [31:0] word_@{w}@ = (sends & (~final_beat | (packet[@{stream_word_bits}@:0] > @{stream_word_bits + 1}@'d@{w}@))) ? window[@{32 * w + 31}@:@{32 * w}@] : 32'd0;
{%- endfor %}
    wire [31:0] word_0 = own ? {(state == ASK) ? STATUS : END, 24'd0} : (window[31:0] & {32{sends}});
    assign to_beat = {last, {% for w in (0..stream_words).rev() %}word_@{w}@{% if !loop.last %}, {% endif %}{% endfor %}};
    // Packets that the engine answers in their turn: those of one beat alone are sound.
    assign asked = moves & last & ~breaks & (own | (head & ((word_0[31:24] == STATUS) | (word_0[31:24] == END) | (word_0[31:24] == IDENT))));
    assign asked_own = moves & own;

    wire [29:0] left_next = left - 30'd1;
    wire fits = count <= {2'd0, left};
    wire sound = fits & (count != 32'd0) & (count <= 32'd@{most_words}@);
    always @(posedge clk) begin
        if (rst | clear) begin
            state <= IDLE;
            bad_packet <= 1'b0;
            bad_read <= 1'b0;
            done_words <= 30'd0;
        end else begin
            case (state)
                IDLE: if (go) state <= COUNT;
                COUNT: if (left == 30'd0) state <= ASK;
                    else if (enough) state <= broken ? ASK : CHECK;
                CHECK: state <= sound ? WORDS : ASK;
                WORDS: if (enough & broken) state <= head ? ASK : (final_beat ? LONG : SHORT);
                    else if (moves & final_beat) state <= COUNT;
                LONG: if (moves) state <= SHORT;
                SHORT: if (moves) state <= ASK;
                ASK: if (moves) state <= CLOSE;
                CLOSE: if (moves) state <= DONE;
                default: ;
            endcase
            if ((state == CHECK) & ~sound) bad_packet <= 1'b1;
            if (((state == WORDS) | ((state == COUNT) & (left != 30'd0))) & enough & broken) bad_read <= 1'b1;
            if ((state == WORDS) & moves & final_beat) done_words <= command_words - left;
        end
        if (go) left <= command_words;
        else if (counts) left <= left_next;
        else if ((state == CHECK) & sound) left <= left - count[29:0];
        if (counts) count <= window[31:0];
        if (state == CHECK) begin
            packet <= count[24:0];
            final_beat <= count <= 32'd@{stream_words}@;
            head <= 1'b1;
        end else if ((state == WORDS) & moves) begin
            packet <= packet - 25'd@{stream_words}@;
            final_beat <= packet <= 25'd@{2 * stream_words}@;
            head <= 1'b0;
        end
    end
