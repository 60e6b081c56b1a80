    // The segment lists of a lane group's runs: where they lie in the ring, which bank the next group of targets takes,
    // and whether a LOAD_J would replace what one of them still reads.
    localparam [@{ring_bits}@:0] RING = @{ring_bits + 1}@'d@{ring}@;

    // Segments of the run described last lie from `run_start` on; `list_end` is where the next run's will begin.
    reg [@{ring_bits}@:0] run_start;
    reg [@{ring_bits}@:0] list_end;
    reg [@{ring_bits}@:0] write_at;
    reg bank;
    wire idle = bank_full == 2'd0;
    // Behind by a cycle or two, in which the room can only have grown.
    reg [@{ring_bits}@:0] list_room;
    reg fits;
    always @(posedge clk) begin
        list_room <= RING - (list_end - list_tail);
        fits <= list_room >= run_items;
    end
    assign run_fits = fits;
    assign segment_at = write_at[@{ring_bits - 1}@:0];
    assign list_free = run_begin & idle;
    assign list_write_at = list_end;
    assign group_bank = bank;
    assign group_start = run_start;
    assign group_end = list_end;
    assign bank_free = ~bank_full[bank];
    assign lanes_free = idle;
    always @(posedge clk) begin
        if (rst) begin
            list_end <= @{ring_bits + 1}@'d0;
            bank <= 1'b0;
        end else begin
            // A run without targets leaves nothing behind.
            if (run_taken & run_waits) list_end <= write_at;
{%- if two_banks %}
            if (group_push) bank <= ~bank;
{%- endif %}
        end
        if (run_taken) run_start <= list_end;
        if (run_begin) write_at <= list_end;
        else if (segment_we) write_at <= write_at + @{ring_bits + 1}@'d1;
    end

    // The range that a run's segments span, for the run and for the group in each bank: a LOAD_J outside of these
    // need not look at single segments.
    reg span_valid;
    reg [@{addr_bits - 1}@:0] span_first;
    reg [@{addr_bits}@:0] span_end;
    reg [@{addr_bits - 1}@:0] run_low;
    reg [@{addr_bits}@:0] run_high;
    reg [@{addr_bits - 1}@:0] low_0;
    reg [@{addr_bits}@:0] high_0;
    reg [@{addr_bits - 1}@:0] low_1;
    reg [@{addr_bits}@:0] high_1;
    always @(posedge clk) begin
        span_valid <= segment_we;
        span_first <= segment_first;
        span_end <= segment_end;
        if (run_begin) begin
            run_low <= {@{addr_bits}@{1'b1}};
            run_high <= @{addr_bits + 1}@'d0;
        end else if (span_valid) begin
            if (span_first < run_low) run_low <= span_first;
            if (span_end > run_high) run_high <= span_end;
        end
        if (group_push & ~bank) {low_0, high_0} <= {run_low, run_high};
        if (group_push & bank) {low_1, high_1} <= {run_low, run_high};
    end

    // The comparison of a LOAD_J's range with the segments of groups that are not done, oldest first, in five steps.
    reg [@{ring_bits}@:0] sent_end;     // list end of the newest group that was handed over
    reg [@{ring_bits}@:0] scan_at;
    reg [@{ring_bits}@:0] scan_at_1;
    reg [@{ring_bits}@:0] scan_at_2;
    reg scan_valid_1;
    reg [@{ring_bits}@:0] scan_at_3;
    reg [@{ring_bits}@:0] scan_at_4;
    reg scan_valid_2;
    reg scan_valid_3;
    reg scan_valid_4;
    reg [@{2 * addr_bits}@:0] scanned;
    reg starts_before_end;
    reg [@{addr_bits}@:0] scanned_end;
    reg scan_meets;
    reg meets;
    reg [@{ring_bits}@:0] meets_at;
    wire meets_0 = bank_full[0] & (load_first < high_0) & ({1'b0, low_0} < load_end);
    wire meets_1 = bank_full[1] & (load_first < high_1) & ({1'b0, low_1} < load_end);
    wire scan_more = scan_at != sent_end;
    wire [@{addr_bits}@:0] scan_first = {1'b0, scanned[@{2 * addr_bits}@:@{addr_bits + 1}@]};
    assign scan_addr = scan_at[@{ring_bits - 1}@:0];
    // All of these are told a cycle late, and stay once they are true.
    reg apart;
    reg all_scanned;
    reg clear;
    reg [@{ring_bits}@:0] unread;         // from the oldest segment that is still to be read
    reg [@{ring_bits}@:0] met;            // from the newest one that is met
    assign load_apart = apart;
    assign load_scanned = all_scanned;
    assign load_clear = clear;
    always @(posedge clk) begin
        apart <= ~meets_0 & ~meets_1;
        all_scanned <= ~scan_more & ~scan_valid_1 & ~scan_valid_2 & ~scan_valid_3 & ~scan_valid_4;
        unread <= sent_end - list_tail;
        met <= sent_end - meets_at;
        clear <= apart | ~meets | idle | (unread < met);
    end
    always @(posedge clk) begin
        if (load_check) scan_at <= list_tail;
        else if (load_scan & scan_more) scan_at <= scan_at + @{ring_bits + 1}@'d1;
        scan_valid_1 <= load_scan & scan_more;
        scan_valid_2 <= scan_valid_1 & load_scan;
        scan_at_1 <= scan_at;
        scan_valid_3 <= scan_valid_2 & load_scan;
        scan_at_2 <= scan_at_1;
        scan_at_3 <= scan_at_2;
        scan_valid_4 <= scan_valid_3 & load_scan;
        scan_at_4 <= scan_at_3;
        scanned <= scan_word;
        starts_before_end <= scan_first < load_end;
        scanned_end <= scan_first + scanned[@{addr_bits}@:0];
        scan_meets <= starts_before_end & (load_first < scanned_end);
        if (load_check) meets <= 1'b0;
        else if (scan_valid_4 & scan_meets) begin
            meets <= 1'b1;
            meets_at <= scan_at_4;
        end
        if (rst) sent_end <= @{ring_bits + 1}@'d0;
        else if (group_push) sent_end <= list_end;
    end
