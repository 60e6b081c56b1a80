    // Sends a frame whenever there is something to say: an answer that is due, or bytes of the replay ring. It has no timer:
    // whoever misses something asks for it, and then `sent` goes back to what the host has acknowledged.
    localparam [2:0] IDLE = 3'd0, OPEN = 3'd1, HEAD = 3'd2, BODY = 3'd3, TAIL = 3'd4, CLOSE = 3'd5;
    reg [2:0] part;
    reg [2:0] at;              // byte of the header or the check
    reg [7:0] left;            // payload bytes to come
    reg [15:0] sent;           // offset of the next payload byte
    reg [15:0] field;          // a 16-bit field of the header on its way out
    reg hello;
    reg lost_told;

    reg start_due;
    reg answer_due;
    reg lost_due;
    reg rewind_due;
    wire [15:0] stored = head_offset - sent;
    wire many = stored[15:8] != 8'd0;
    wire some = stored[7:0] != 8'd0;
    wire idle = part == IDLE;
    wire rewinds = idle & rewind_due & ~start_due;
    wire begins = idle & ~rewinds & (start_due | answer_due | many | (some & quiet));
    assign resetting = start_due | hello;

    // One byte: read the ring, take the byte, let the check turn over it, hand it to the UART (behind an escape if need be).
    localparam [1:0] READ = 2'd0, LOAD = 2'd1, TURN = 2'd2, EMIT = 2'd3;
    reg [1:0] step;
    reg [2:0] turns;
    reg [7:0] bits;
    reg escaped;
    wire is_flag = (part == OPEN) | (part == CLOSE);
    wire special = ((bits == 8'h7e) | (bits == 8'h7d)) & ~is_flag;
    wire escape_first = special & ~escaped;
    wire emit = (step == EMIT) & uart_ready;
    wire done = emit & ~escape_first;
    assign uart_valid = step == EMIT;
    assign uart_data = escape_first ? 8'h7d : {bits[7:6], bits[5] ^ escaped, bits[4:0]};
    assign ring_re = step == READ;
    assign ring_addr = sent[@{ring_bits - 1}@:0];
    assign nonce_pop = done & (part == BODY) & hello & (sent[@{identity_bits - 1}@:2] == @{identity_bits - 2}@'d0);

    // The payload of HELLO behind the nonce.
    (* rom_style = "block" *) reg [7:0] identity [0:@{identity_places - 1}@];
    reg [7:0] identity_byte;
    initial begin
{%- for (place, byte) in identity %}
        identity[@{place}@] = 8'h@{byte}@;
{%- endfor %}
    end
    always @(posedge clk) identity_byte <= identity[sent[@{identity_bits - 1}@:0]];

    reg [31:0] crc;
    wire feedback = (crc[0] ^ bits[0]) & (part != TAIL);
    reg [7:0] byte_now;
    always @* begin
        case (part)
            HEAD: begin
                if (at == 3'd0) byte_now = {hello, hello | lost_told, session_tag};
                else if (at == 3'd1) byte_now = left;
                else byte_now = field[7:0];
            end
            BODY: begin
                if (~hello) byte_now = ring_data;
                else if (sent[@{identity_bits - 1}@:2] == @{identity_bits - 2}@'d0) byte_now = nonce_byte;
                else byte_now = identity_byte;
            end
            TAIL: byte_now = ~crc[7:0];
            default: byte_now = 8'h7e;
        endcase
    end

    always @(posedge clk) begin
        if (idle | rst) step <= READ;
        else begin
            case (step)
                READ: step <= LOAD;
                LOAD: step <= TURN;
                TURN: step <= (turns == 3'd7) ? EMIT : TURN;
                default: step <= done ? READ : EMIT;
            endcase
        end
        if (step == LOAD) bits <= byte_now;
        else if (step == TURN) bits <= {bits[0], bits[7:1]};
        if (step == TURN) turns <= turns + 3'd1;
        else turns <= 3'd0;
        if (step == LOAD) escaped <= 1'b0;
        else if (emit) escaped <= 1'b1;
        if (part == OPEN) crc <= 32'hffffffff;
        else if (step == TURN) crc <= {1'b0, crc[31:1]} ^ ({32{feedback}} & 32'h@{polynomial}@);
    end

    wire body_follows = left != 8'd0;
    always @(posedge clk) begin
        if (rst) begin
            part <= IDLE;
            hello <= 1'b0;
        end else if (begins) begin
            part <= OPEN;
            hello <= start_due;
        end else if (done) begin
            case (part)
                OPEN: part <= HEAD;
                HEAD: if (at == 3'd7) part <= body_follows ? BODY : TAIL;
                BODY: if (left == 8'd1) part <= TAIL;
                TAIL: if (at == 3'd3) part <= CLOSE;
                default: begin
                    part <= IDLE;
                    hello <= 1'b0;
                end
            endcase
        end
        if (idle) at <= 3'd0;
        else if (done & (part == BODY)) at <= 3'd0;
        else if (done & ~is_flag) at <= at + 3'd1;
        if (begins) left <= start_due ? 8'd@{identity_bytes}@ : (many ? 8'd255 : stored[7:0]);
        else if (done & (part == BODY)) left <= left - 8'd1;
        if (begins) lost_told <= lost_due;

        if (rst | (begins & start_due) | (done & (part == CLOSE) & hello)) sent <= 16'd0;
        else if (rewinds) sent <= acked_offset;
        else if (done & (part == BODY)) sent <= sent + 16'd1;
        if (done & (part == HEAD)) begin
            case (at)
                3'd1: field <= sent;
                3'd3: field <= next_offset;
                3'd5: field <= taken_offset;
                default: field <= {8'd0, field[15:8]};
            endcase
        end

        start_due <= (start | (start_due & ~begins)) & ~rst;
        answer_due <= (answer | half | (answer_due & ~begins)) & ~rst;
        lost_due <= (lost | (lost_due & ~begins)) & ~rst;
        rewind_due <= (rewind | (rewind_due & ~rewinds & ~(begins & start_due))) & ~rst;
    end
