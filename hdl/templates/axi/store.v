    // Writes the results in bursts that end where their own size divides the address: so none crosses 4 kB. A burst begins once all
    // of its beats are there, so that the memory never waits.
    localparam [@{beat_bits}@:0] BURST = @{beat_bits + 1}@'d@{burst}@;
    localparam [1:0] SIZE  = 2'd0;
    localparam [1:0] WAIT  = 2'd1;
    localparam [1:0] BEATS = 2'd2;
    reg [1:0] state;
    reg [@{63 - align_bits}@:0] at;
    reg [@{room_bits - 1}@:0] pending;     // beats that no burst has
    reg [@{beat_bits}@:0] to_end;
    reg [@{beat_bits}@:0] count;
    reg [@{beat_bits}@:0] left;
    reg asking;
    reg sending;
    reg open;
    reg [3:0] unanswered;
    reg bad_write;
    assign write_error = bad_write;
    wire enough = pending >= {@{room_bits - 1 - beat_bits}@'d0, to_end};
    wire some = pending != @{room_bits}@'d0;
    wire begins = (state == WAIT) & ~halt & (unanswered != 4'd15) & some & (enough | gathered);
    wire [@{beat_bits}@:0] size = enough ? to_end : pending[@{beat_bits}@:0];
    wire [@{room_bits - 1}@:0] given = {@{room_bits - 1 - beat_bits}@'d0, size & {@{beat_bits + 1}@{begins}}};
    wire moves = m_axi_results_wvalid & m_axi_results_wready;
    wire answers = m_axi_results_bvalid & open;

    assign m_axi_results_awid = 1'b0;
    assign m_axi_results_awaddr = {at, @{align_bits}@'d0};
    assign m_axi_results_awlen = {@{7 - beat_bits}@'d0, count - @{beat_bits + 1}@'d1};
    assign m_axi_results_awsize = 3'd@{align_bits}@;
    assign m_axi_results_awburst = 2'b01;
    assign m_axi_results_awcache = 4'b0011;
    assign m_axi_results_awprot = 3'b000;
    assign m_axi_results_awvalid = asking;
    assign m_axi_results_wdata = store_beat[@{beat_words * 32 - 1}@:0];
    assign m_axi_results_wstrb = {{% for w in (0..beat_words).rev() %}{4{store_beat[@{beat_words * 32 + w}@]}}{% if !loop.last %}, {% endif %}{% endfor %}};
    assign m_axi_results_wlast = left == @{beat_bits + 1}@'d1;
    assign m_axi_results_wvalid = sending & store_valid;
    assign m_axi_results_bready = open;
    assign store_pop = moves;
    assign store_idle = (state != BEATS) & (unanswered == 4'd0);
    assign stored = gathered & store_idle & ~some & ~gather_push;

    always @(posedge clk) begin
        open <= ~rst;
        if (rst) begin
            state <= SIZE;
            asking <= 1'b0;
            sending <= 1'b0;
            unanswered <= 4'd0;
        end else begin
            if (begins) asking <= 1'b1;
            else if (m_axi_results_awready) asking <= 1'b0;
            if (begins) sending <= 1'b1;
            else if (moves & m_axi_results_wlast) sending <= 1'b0;
            unanswered <= unanswered + {3'd0, begins} - {3'd0, answers};
            case (state)
                SIZE: if (~go) state <= WAIT;
                WAIT: if (go) state <= SIZE;
                    else if (begins) state <= BEATS;
                default: if (~asking & ~sending) state <= SIZE;
            endcase
        end
        if (rst | clear) begin
            pending <= @{room_bits}@'d0;
            bad_write <= 1'b0;
        end else begin
            pending <= pending + {@{room_bits - 1}@'d0, gather_push} - given;
            if (answers & m_axi_results_bresp[1]) bad_write <= 1'b1;
        end
        if (state == SIZE) to_end <= BURST - {1'b0, at[@{beat_bits - 1}@:0]};
        if (begins) count <= size;
        if (begins) left <= size;
        else if (moves) left <= left - @{beat_bits + 1}@'d1;
        if (go) at <= results_at[63:@{align_bits}@];
        else if ((state == BEATS) & ~asking & ~sending) at <= at + {@{63 - align_bits - beat_bits}@'d0, count};
    end
    wire unused = &{1'b0, results_at[@{align_bits - 1}@:0], m_axi_results_bid, m_axi_results_bresp[0]};
