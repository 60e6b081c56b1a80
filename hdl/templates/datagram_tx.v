    // Sends a datagram whenever there is something to say: to somebody without the session, an identity, an answer that is due,
    // or words of the replay ring. It has no timer: whoever misses something asks for it, and then `sent` goes back to what the
    // host has acknowledged.
    reg part;                  // words are still to be fetched
    reg read;                  // a word has been fetched
    reg shown;                 // a word is on the way out
    reg [8:0] at;              // word of the datagram that is fetched next
    reg [7:0] length;
    reg [2:0] kind;
    reg by_identity;           // the payload is the identity, else the ring, or the address of the host
    reg by_address;
    reg [31:0] tag;
    reg [31:0] first_word;     // offset of the payload
    reg [31:0] read_at;
    reg [31:0] to_address;
    reg [15:0] to_port;

    reg [31:0] sent;           // offset of the next word to send
    reg [31:0] acked;
    assign acked_offset = acked;

    reg aside_due;
    reg aside_who;
    reg [31:0] aside_to;
    reg [15:0] aside_at;
    reg [31:0] aside_tag;
    reg greet_due;
    reg answer_due;
    reg lost_due;
    reg rewind_due;

    wire [31:0] stored = head_offset - sent;
    wire many = stored >= 32'd255;
    wire some = stored != 32'd0;
    wire rests = ~part & ~read & ~shown;
    wire aside_begins = rests & aside_due & ~start;
    wire greet_begins = rests & ~aside_due & greet_due & session_bound & ~start;
    wire rewinds = rests & ~aside_due & ~greet_due & rewind_due & ~ack_valid;
    // While offsets move, no data begins.
    wire data_begins = rests & ~ack_valid & ~start & ~clear & ~aside_due & ~greet_due & ~rewind_due & session_bound
        & (answer_due | many | (some & quiet));
    wire begins = aside_begins | greet_begins | data_begins;

    wire [31:0] newly = ack_offset - acked;
    wire acks = ack_valid & (newly <= (head_offset - acked));
    wire passes = (sent - acked) < newly;

    // A word is fetched when the one before it leaves for the register on the way out. That register is between the ring, a slow
    // memory, and the check.
    reg was_last;
    reg from_ring;
    reg from_identity;
    reg [31:0] word;
    reg is_last;
    reg [31:0] out;
    wire takes = shown & tx_ready;
    wire leaves = read & (~shown | tx_ready);
    wire fetch = part & (~read | leaves);
    wire in_payload = (at >= 9'd5) & ((at - 9'd5) < {1'b0, length});
    wire is_check = at == ({1'b0, length} + 9'd5);
    assign ring_re = fetch;
    assign ring_addr = read_at[@{ring_bits - 1}@:0];

    // The payload of an identity behind the nonce.
    reg [31:0] identity_word;
    always @(posedge clk) begin
        if (fetch) begin
            case (at)
{%- for (place, word) in identity %}
                9'd@{place}@: identity_word <= 32'h@{word}@;
{%- endfor %}
                default: identity_word <= tag;
            endcase
        end
    end

    reg [31:0] crc;
    wire [31:0] crc_in = crc ^ tx_data;
    wire [31:0] crc_next;
{%- for mask in crc %}
    assign crc_next[@{loop.index0}@] = ^(crc_in & 32'h@{mask}@);
{%- endfor %}
    // The check is last.
    assign tx_data = is_last ? ~crc : out;
    assign tx_valid = shown;
    assign tx_last = is_last;
    assign tx_address = to_address;
    assign tx_port = to_port;
    wire [8:0] words = {1'b0, length} + 9'd6;
    assign tx_bytes = {5'd0, words, 2'd0};

    always @(posedge clk) begin
        if (rst) begin
            part <= 1'b0;
            read <= 1'b0;
            shown <= 1'b0;
        end else begin
            if (begins) part <= 1'b1;
            else if (fetch & is_check) part <= 1'b0;
            if (fetch) read <= 1'b1;
            else if (leaves) read <= 1'b0;
            if (leaves) shown <= 1'b1;
            else if (tx_ready) shown <= 1'b0;
        end
        if (begins) at <= 9'd0;
        else if (fetch) at <= at + 9'd1;
        if (begins) crc <= 32'hffffffff;
        else if (takes) crc <= crc_next;
        if (fetch) begin
            was_last <= is_check;
            from_ring <= in_payload & ~by_identity & ~by_address;
            from_identity <= in_payload & by_identity;
            case (at)
                9'd0: word <= {16'h@{mark}@, length, 5'd0, kind};
                9'd1: word <= tag;
                9'd2: word <= first_word;
                9'd3: word <= (by_identity | by_address) ? 32'd0 : next_offset;
                9'd4: word <= (by_identity | by_address) ? 32'd0 : taken_offset;
                default: word <= session_bound ? host_address : 32'd0;
            endcase
            if (in_payload) read_at <= read_at + 32'd1;
        end
        if (leaves) begin
            is_last <= was_last;
            out <= from_ring ? ring_data : from_identity ? identity_word : word;
        end
        if (begins) begin
            to_address <= aside_begins ? aside_to : host_address;
            to_port <= aside_begins ? aside_at : host_port;
            tag <= aside_begins ? aside_tag : session_tag;
            by_identity <= aside_begins ? aside_who : greet_begins;
            by_address <= aside_begins & ~aside_who;
            kind <= aside_begins ? (aside_who ? 3'd5 : 3'd4) : greet_begins ? 3'd3 : {2'd0, lost_due};
            length <= aside_begins ? (aside_who ? 8'd@{identity_words}@ : 8'd1) : greet_begins ? 8'd@{identity_words}@ : many ? 8'd255 : stored[7:0];
            first_word <= data_begins ? sent : 32'd0;
            read_at <= sent;
        end

        if (rst | start) begin
            sent <= 32'd0;
            acked <= 32'd0;
        end else if (ack_valid) begin
            if (acks) begin
                acked <= ack_offset;
                if (passes) sent <= ack_offset;
            end
        end else if (rewinds) begin
            sent <= acked;
        end else if (data_begins) begin
            sent <= sent + (many ? 32'd255 : {24'd0, stored[7:0]});
        end

        aside_due <= (aside_valid | (aside_due & ~aside_begins)) & ~rst;
        if (aside_valid) begin
            aside_who <= aside_is_who;
            aside_to <= aside_address;
            aside_at <= aside_port;
            aside_tag <= aside_session;
        end
        greet_due <= (greet | (greet_due & ~greet_begins)) & ~rst;
        answer_due <= (answer | half | (answer_due & ~data_begins & ~start)) & ~rst;
        lost_due <= (lost | (lost_due & ~data_begins & ~start)) & ~rst;
        rewind_due <= (rewind | (rewind_due & ~rewinds & ~start)) & ~rst;
    end
