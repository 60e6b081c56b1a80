    // Takes datagrams, a word a clock and without ever waiting, and decides on each when it has ended. Payload is written to
    // the ring as it comes and belongs to the stream only when the datagram has proved whole: until then nobody reads it.
    localparam [7:0] DATA = 8'd0, REWIND = 8'd2, START = 8'd3, OVER = 8'd4, WHO = 8'd5;
    reg [8:0] at;              // words of the datagram so far; stays at its largest value
    reg [7:0] kind;
    reg [7:0] length;
    reg [31:0] from_address;
    reg [15:0] from_port;
    reg [31:0] tag;
    reg [31:0] seq;
    reg [31:0] ack;
    reg marked;
    reg fits;                  // the payload is next in order, and there is room for it
    reg [31:0] write_at;
    reg over;                  // the datagram has ended with the word before
    reg complete;              // and had as many words as it says

    reg [31:0] expected;       // offset of the next word that belongs to the stream
    reg [31:0] session;
    reg bound;                 // a host has the session
    reg [31:0] peer_address;
    reg [15:0] peer_port;
    assign next_offset = expected;
    assign session_tag = session;
    assign session_bound = bound;
    assign host_address = peer_address;
    assign host_port = peer_port;

    wire first = at == 9'd0;
    // CRC-32 of a whole word. Over a datagram with its check it comes to a constant.
    reg [31:0] crc;
    wire [31:0] crc_in = (first ? 32'hffffffff : crc) ^ rx_data;
    wire [31:0] crc_next;
{%- for mask in crc %}
    assign crc_next[@{loop.index0}@] = ^(crc_in & 32'h@{mask}@);
{%- endfor %}

    wire in_payload = (at >= 9'd5) & ((at - 9'd5) < {1'b0, length});
    wire is_check = at == ({1'b0, length} + 9'd5);
    wire [31:0] stored = expected - taken_offset;
    wire [31:0] room = 32'd@{ring_words}@ - stored;
    assign ring_we = rx_valid & in_payload & fits;
    assign ring_addr = write_at[@{ring_bits - 1}@:0];
    assign ring_data = rx_data;
    always @(posedge clk) begin
        if (rst) begin
            at <= 9'd0;
            over <= 1'b0;
            complete <= 1'b0;
        end else begin
            over <= rx_valid & rx_last;
            complete <= rx_valid & rx_last & is_check;
            if (rx_valid) begin
                if (rx_last) at <= 9'd0;
                else if (at != 9'd511) at <= at + 9'd1;
            end
        end
        if (rx_valid) begin
            crc <= crc_next;
            if (first) begin
                kind <= rx_data[7:0];
                length <= rx_data[15:8];
                marked <= rx_data[31:16] == 16'h@{mark}@;
                from_address <= rx_address;
                from_port <= rx_port;
            end
            if (at == 9'd1) tag <= rx_data;
            if (at == 9'd2) begin
                seq <= rx_data;
                fits <= (rx_data == expected) & ({24'd0, length} <= room);
            end
            if (at == 9'd3) ack <= rx_data;
        end
        if (rx_valid & (at == 9'd2)) write_at <= expected;
        else if (ring_we) write_at <= write_at + 32'd1;
    end

    // So long after the last datagram of its host, the board may be taken by another one.
    reg [@{hold_bits - 1}@:0] silent;
    wire idle = silent == @{hold_bits}@'d@{hold}@;

    // In the clock behind the last word.
    wire whole = over & complete & marked & (crc == 32'h@{residue}@);
    wire broken = over & ~whole;
    wire is_peer = (from_address == peer_address) & (from_port == peer_port);
    wire ours = bound & is_peer;
    wire same = tag == session;
    wire asks = whole & (kind == START) & (tag != 32'd0);
    wire asks_again = asks & same & ours;
    wire held = bound & ~is_peer & ~idle;
    wire opens = asks & ~(same & ~bound) & ~asks_again & ~held;
    wire refused = asks & ~(same & ~bound) & ~asks_again & held;
    wire plain = whole & (kind <= OVER) & (kind != START);
    wire stranger = plain & ~(ours & same);
    wire ends = plain & ours & same & (kind == OVER);
    wire frame = plain & ours & same & (kind != OVER);
    wire [31:0] gap = seq - expected;
    wire behind_gap = ~gap[31] & (gap != 32'd0);

    always @(posedge clk) begin
        if (rst | opens | frame) silent <= @{hold_bits}@'d0;
        else if (~idle) silent <= silent + @{hold_bits}@'d1;
    end

    reg start_now;
    reg greet_now;
    reg answer_now;
    reg lost_now;
    reg rewind_now;
    reg ack_now;
    reg aside_now;
    reg aside_who;
    reg [31:0] aside_to;
    reg [15:0] aside_at;
    reg [31:0] aside_tag;
    reg [31:0] ack_told;
    assign start = start_now;
    assign greet = greet_now;
    assign answer = answer_now;
    assign lost = lost_now;
    assign rewind = rewind_now;
    assign ack_valid = ack_now;
    assign ack_offset = ack_told;
    assign aside_valid = aside_now;
    assign aside_is_who = aside_who;
    assign aside_address = aside_to;
    assign aside_port = aside_at;
    assign aside_session = aside_tag;
    always @(posedge clk) begin
        if (rst) begin
            bound <= 1'b0;
            session <= 32'd0;
        end else if (opens) begin
            bound <= 1'b1;
            session <= tag;
        end else if (ends) begin
            bound <= 1'b0;
        end
        if (opens) begin
            peer_address <= from_address;
            peer_port <= from_port;
        end
        if (rst | opens) expected <= 32'd0;
        else if (frame & fits) expected <= expected + {24'd0, length};
        start_now <= opens & ~rst;
        greet_now <= (opens | asks_again) & ~rst;
        answer_now <= ((frame & (~fits | (length != 8'd0) | (kind != DATA))) | (broken & ours)) & ~rst;
        lost_now <= ((frame & behind_gap) | (broken & ours)) & ~rst;
        rewind_now <= frame & (kind == REWIND) & ~rst;
        ack_now <= frame & ~rst;
        ack_told <= ack;
        aside_now <= (refused | stranger | (whole & (kind == WHO))) & ~rst;
        aside_who <= kind == WHO;
        aside_to <= from_address;
        aside_at <= from_port;
        aside_tag <= tag;
    end
