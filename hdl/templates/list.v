    // The segment lists of a lane group's runs: where they lie in the ring, which bank the next group of targets takes,
    // and whether a LOAD_J would replace what one of them still reads.
    localparam [@{ring_bits}@:0] RING = @{ring_bits + 1}@'d@{ring}@;

    // Segments of the run described last lie from `run_start` on; `list_end` is where the next run's will begin.
    reg [@{ring_bits}@:0] run_start;
    reg [@{ring_bits}@:0] list_end;
    reg [@{ring_bits}@:0] write_at;
    reg bank;
    wire idle = bank_full == 2'd0;
    wire [@{ring_bits}@:0] list_room = RING - (list_end - list_tail);
    assign run_fits = list_room >= run_items;
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

    // The comparison of a LOAD_J's range with the segments of groups that are not done, oldest first, in three steps.
    reg [@{ring_bits}@:0] sent_end;     // list end of the newest group that was handed over
    reg [@{ring_bits}@:0] scan_at;
    reg [@{ring_bits}@:0] scan_at_1;
    reg [@{ring_bits}@:0] scan_at_2;
    reg scan_valid_1;
    reg scan_valid_2;
    reg starts_before_end;
    reg [@{addr_bits}@:0] scanned_end;
    reg meets;
    reg [@{ring_bits}@:0] meets_at;
    wire meets_0 = bank_full[0] & (load_first < high_0) & ({1'b0, low_0} < load_end);
    wire meets_1 = bank_full[1] & (load_first < high_1) & ({1'b0, low_1} < load_end);
    wire scan_more = scan_at != sent_end;
    wire [@{addr_bits}@:0] scan_first = {1'b0, scan_word[@{2 * addr_bits}@:@{addr_bits + 1}@]};
    wire passed = (sent_end - list_tail) < (sent_end - meets_at);
    assign scan_addr = scan_at[@{ring_bits - 1}@:0];
    assign load_apart = ~meets_0 & ~meets_1;
    assign load_scanned = ~scan_more & ~scan_valid_1 & ~scan_valid_2;
    assign load_clear = load_apart | ~meets | idle | passed;
    always @(posedge clk) begin
        if (load_check) scan_at <= list_tail;
        else if (load_scan & scan_more) scan_at <= scan_at + @{ring_bits + 1}@'d1;
        scan_valid_1 <= load_scan & scan_more;
        scan_valid_2 <= scan_valid_1 & load_scan;
        scan_at_1 <= scan_at;
        scan_at_2 <= scan_at_1;
        starts_before_end <= scan_first < load_end;
        scanned_end <= scan_first + scan_word[@{addr_bits}@:0];
        if (load_check) meets <= 1'b0;
        else if (scan_valid_2 & starts_before_end & (load_first < scanned_end)) begin
            meets <= 1'b1;
            meets_at <= scan_at_2;
        end
        if (rst) sent_end <= @{ring_bits + 1}@'d0;
        else if (group_push) sent_end <= list_end;
    end
