    // Beats from the engine to words in the replay ring. Nothing is overwritten before the host has acknowledged it. Replies
    // state their own length, so that TLAST is not sent.
    reg [31:0] head;
    reg [@{stream_bits - 1}@:0] beat;
    reg [2:0] count;           // words of the beat still to go
    wire busy = count != 3'd0;
    wire full = (head[@{ring_bits - 1}@:0] == acked_offset[@{ring_bits - 1}@:0]) & (head[@{ring_bits}@] != acked_offset[@{ring_bits}@]);
    wire put = busy & ~full;
    wire take = m_tvalid & m_tready;
    wire unused = &{1'b0, m_tlast, acked_offset[31:@{ring_bits + 1}@]};
    assign m_tready = (~busy | (put & (count == 3'd1))) & ~clear;
    assign quiet = ~busy & ~m_tvalid;
    assign head_offset = head;
    assign ring_we = put;
    assign ring_addr = head[@{ring_bits - 1}@:0];
    assign ring_data = beat[31:0];
    always @(posedge clk) begin
        if (clear) begin
            head <= 32'd0;
            count <= 3'd0;
        end else begin
            if (put) head <= head + 32'd1;
            if (take) count <= 3'd@{beat_words}@;
            else if (put) count <= count - 3'd1;
        end
        if (take) beat <= m_tdata;
{%- if beat_words > 1 %}
        else if (put) beat <= {32'd0, beat[@{stream_bits - 1}@:32]};
{%- endif %}
    end
