    // Cut into memories of the width that a block has at this depth, so that no multiplexer stands behind the data.{% if !collides %} No word
    // is read while it is written.{% endif %}
{%- for slice in slices %}
    @{slice.attributes}@reg [@{slice.width - 1}@:0] memory_@{slice.index}@ [0:@{depth - 1}@];
    reg [@{slice.width - 1}@:0] word_@{slice.index}@;
{%- endfor %}
    assign rdata = {@{words}@};
    always @(posedge clk) begin
        if (we) begin
{%- for slice in slices %}
            memory_@{slice.index}@[waddr] <= @{slice.data}@;
{%- endfor %}
        end
        if (re) begin
{%- for slice in slices %}
            word_@{slice.index}@ <= memory_@{slice.index}@[raddr];
{%- endfor %}
        end
    end
