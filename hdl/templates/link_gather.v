    // Beats from the engine to bytes in the replay ring, low byte first. Nothing is overwritten before the host has
    // acknowledged it. Replies state their own length, so that TLAST is not sent.
    reg [15:0] head;
    reg [@{stream_bits - 1}@:0] beat;
    reg [@{count_bits}@:0] count;  // bytes of the beat still to go
    wire busy = count != @{count_bits + 1}@'d0;
    wire full = (head[@{ring_bits - 1}@:0] == acked_offset[@{ring_bits - 1}@:0]) & (head[@{ring_bits}@] != acked_offset[@{ring_bits}@]);
    wire put = busy & ~full;
    wire take = m_tvalid & m_tready;
    wire unused = &{1'b0, m_tlast, acked_offset[15:@{ring_bits + 1}@]};
    assign m_tready = ~busy & ~clear;
    assign quiet = ~busy & ~m_tvalid;
    assign head_offset = head;
    assign ring_we = put;
    assign ring_addr = head[@{ring_bits - 1}@:0];
    assign ring_data = beat[7:0];
    always @(posedge clk) begin
        if (clear) begin
            head <= 16'd0;
            count <= @{count_bits + 1}@'d0;
        end else begin
            if (put) head <= head + 16'd1;
            if (take) count <= @{count_bits + 1}@'d@{beat_bytes}@;
            else if (put) count <= count - @{count_bits + 1}@'d1;
        end
        if (take) beat <= m_tdata;
        else if (put) beat <= {8'd0, beat[@{stream_bits - 1}@:8]};
    end
