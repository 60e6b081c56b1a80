    // The stream from the host is chunks: a byte with the number of beats less one and, in bit 7, whether the packet ends
    // behind them; then the beats, low byte first.
    reg [15:0] taken;
    reg fetched;               // the ring's output is the byte at `taken`
    reg [7:0] beats;           // of the chunk, still to go to the engine
    reg closes;
    reg [@{count_bits - 1}@:0] count; // bytes of the beat so far
    reg [@{stream_bits - 1}@:0] beat;
    reg full;
    assign taken_offset = taken;
    assign ring_re = ~fetched;
    assign ring_addr = taken[@{ring_bits - 1}@:0];
    assign s_tdata = beat;
    assign s_tvalid = full;
    assign s_tlast = closes & (beats == 8'd1);

    wire into_beat = fetched & (beats != 8'd0) & ~full;
    wire into_head = fetched & (beats == 8'd0);
    wire consumed = into_beat | into_head;
    wire sent = full & s_tready;
    wire [15:0] taken_next = taken + 16'd1;
    // A host that waits for room hears of it each time that half the ring has gone through.
    reg half_now;
    assign half = half_now;
    always @(posedge clk) begin
        if (clear) begin
            taken <= 16'd0;
            fetched <= 1'b0;
            beats <= 8'd0;
            count <= @{count_bits}@'d0;
            full <= 1'b0;
            half_now <= 1'b0;
        end else begin
            if (consumed) taken <= taken_next;
            fetched <= fetched ? ~consumed : (taken != next_offset);
            if (into_head) beats <= {1'b0, ring_data[6:0]} + 8'd1;
            else if (sent) beats <= beats - 8'd1;
            if (into_beat) count <= count + @{count_bits}@'d1;
            full <= full ? ~s_tready : (into_beat & (count == @{count_bits}@'d@{beat_bytes - 1}@));
            half_now <= consumed & (taken_next[@{ring_bits - 1}@] != taken[@{ring_bits - 1}@]);
        end
        if (into_head) closes <= ring_data[7];
        if (into_beat) beat <= {ring_data, beat[@{stream_bits - 1}@:8]};
    end
