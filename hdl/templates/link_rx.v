    // Undoes the stuffing, checks, and takes what is whole, of this session and next in order. Payload is written to the
    // ring as it comes and belongs to the stream only when the frame has proved whole: until then nobody reads it.
    reg [15:0] expected;       // offset of the next byte that belongs to the stream
    reg [15:0] write_at;       // where the frame under way has come to
    reg [15:0] ack;            // of the frame under way
    reg [15:0] acked;
    reg [5:0] session;
    reg [7:0] kind;            // the first byte: kind and session
    reg [7:0] left;            // payload bytes to come
    reg [3:0] head;            // header bytes so far, up to 8
    reg [2:0] tail;            // check bytes so far; 5 is too many
    reg in_order;
    reg escaped;
    assign next_offset = expected;
    assign acked_offset = acked;
    assign session_tag = session;

    wire flag = valid & (data == 8'h7e);
    wire escape = valid & (data == 8'h7d);
    wire take = valid & ~flag & ~escape;
    wire [7:0] plain = {data[7:6], data[5] ^ escaped, data[4:0]};
    wire in_body = head[3];
    wire payload = take & in_body & (left != 8'd0);
    wire is_sync = kind[7:6] == 2'd3;

    assign ring_we = payload & in_order & ~is_sync;
    assign ring_addr = write_at[@{ring_bits - 1}@:0];
    assign ring_data = plain;

    // The nonce of a SYNC goes round this register: in from the frame, out into the answer.
    reg [31:0] nonce;
    assign nonce_byte = nonce[7:0];
    wire nonce_in = payload & is_sync;
    always @(posedge clk) if (nonce_in | nonce_pop) nonce <= {nonce_in ? plain : nonce[7:0], nonce[31:8]};

    // CRC-32, a bit a clock: bytes are much further apart. Over a whole frame with its check it comes to a constant.
    reg [31:0] crc;
    reg [7:0] bits;
    reg [3:0] turns;
    wire feedback = crc[0] ^ bits[0];
    always @(posedge clk) begin
        if (take) bits <= plain;
        else bits <= {1'b0, bits[7:1]};
        if (rst) turns <= 4'd0;
        else if (take) turns <= 4'd8;
        else if (turns != 4'd0) turns <= turns - 4'd1;
        if (flag) crc <= 32'hffffffff;
        else if (turns != 4'd0) crc <= {1'b0, crc[31:1]} ^ ({32{feedback}} & 32'h@{polynomial}@);
    end

    wire [7:0] expected_byte = head[0] ? expected[15:8] : expected[7:0];
    always @(posedge clk) begin
        if (rst | flag) begin
            head <= 4'd0;
            tail <= 3'd0;
            escaped <= 1'b0;
        end else begin
            if (valid) escaped <= escape;
            if (take & ~in_body) head <= head + 4'd1;
            if (take & in_body & (left == 8'd0) & (tail != 3'd5)) tail <= tail + 3'd1;
        end
        if (take & ~in_body) begin
            if (head[2:0] == 3'd0) kind <= plain;
            if (head[2:0] == 3'd1) left <= plain;
            if (head[2:1] == 2'd1) in_order <= (plain == expected_byte) & (in_order | ~head[0]);
            if (head[2:1] == 2'd2) ack <= {plain, ack[15:8]};
        end else if (payload) begin
            left <= left - 8'd1;
        end
    end

    wire whole = in_body & (left == 8'd0) & (tail == 3'd4) & (crc == 32'h@{residue}@) & ~escaped;
    wire begins = flag & whole & is_sync;
    wire ours = flag & whole & ~is_sync & (kind[5:0] == session);
    wire broken = flag & ~whole & (head != 4'd0);
    reg start_now;
    reg answer_now;
    reg lost_now;
    reg rewind_now;
    assign start = start_now;
    assign answer = answer_now;
    assign lost = lost_now;
    assign rewind = rewind_now;
    always @(posedge clk) begin
        if (rst) session <= 6'd0;
        else if (begins) session <= kind[5:0];
        if (rst | begins) begin
            expected <= 16'd0;
            acked <= 16'd0;
        end else if (ours) begin
            acked <= ack;
            if (in_order) expected <= write_at;
        end
        if (rst | begins) write_at <= 16'd0;
        else if (flag & ~(ours & in_order)) write_at <= expected;
        else if (ring_we) write_at <= write_at + 16'd1;
        start_now <= begins & ~rst;
        // Whatever was not a plain acknowledgement is answered, and so is a frame of another session: the host then
        // sees that this board has begun anew.
        answer_now <= ((flag & whole & ~is_sync & ~ours) | broken
            | (ours & (~in_order | (write_at != expected) | (kind[7:6] != 2'd0)))) & ~rst;
        lost_now <= (broken | (ours & ~in_order)) & ~rst;
        rewind_now <= ours & (kind[7:6] == 2'd2) & ~rst;
    end
