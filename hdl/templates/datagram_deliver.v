    // The stream from the host is chunks: a word with the number of beats less one in bits 15..0 and, in bit 31, whether the
    // packet ends behind them; then the beats.
    reg [31:0] taken;
    reg fetched;               // the ring's output is the word at `taken`
    reg [16:0] beats;          // of the chunk, still to come into the beat
    reg closes;
    reg [2:0] count;           // words of the beat so far
    reg [@{stream_bits - 1}@:0] beat;
    reg full;
    reg last;
    assign taken_offset = taken;
    assign s_tdata = beat;
    assign s_tvalid = full;
    assign s_tlast = last;

    wire into_beat = fetched & (beats != 17'd0) & (~full | s_tready);
    wire into_head = fetched & (beats == 17'd0);
    wire consumed = into_beat | into_head;
    wire fills = into_beat & (count == 3'd@{beat_words - 1}@);
    wire [31:0] taken_next = taken + 32'd1;
    wire [31:0] wanted = consumed ? taken_next : taken;
    assign ring_re = ~fetched | consumed;
    assign ring_addr = wanted[@{ring_bits - 1}@:0];
    // A host that waits for room hears of it each time that half the ring has gone through.
    reg half_now;
    assign half = half_now;
    always @(posedge clk) begin
        if (clear) begin
            taken <= 32'd0;
            fetched <= 1'b0;
            beats <= 17'd0;
            count <= 3'd0;
            full <= 1'b0;
            half_now <= 1'b0;
        end else begin
            if (consumed) taken <= taken_next;
            if (ring_re) fetched <= wanted != next_offset;
            if (into_head) beats <= {1'b0, ring_data[15:0]} + 17'd1;
            else if (fills) beats <= beats - 17'd1;
            if (into_beat) count <= fills ? 3'd0 : count + 3'd1;
            full <= fills | (full & ~s_tready);
            half_now <= consumed & (taken_next[@{ring_bits - 1}@] != taken[@{ring_bits - 1}@]);
        end
        if (into_head) closes <= ring_data[31];
        if (fills) last <= closes & (beats == 17'd1);
{%- if beat_words == 1 %}
        if (into_beat) beat <= ring_data;
{%- else %}
        if (into_beat) beat <= {ring_data, beat[@{stream_bits - 1}@:32]};
{%- endif %}
    end
