# @{made}@: the clock that the pipelines are made for, in nanoseconds.
create_clock -name @{clock}@ -period @{period}@ [get_ports {@{clock}@}]
{%- if is_quartus %}
derive_clock_uncertainty
{%- endif %}
{%- if !inputs.is_empty() %}

# These hold for the engine alone. All ports belong to the one clock; the whole period is for what lies inside. The reset is
# synchronous like all other inputs, so that its path counts: it must not be excepted.
set_input_delay -clock @{clock}@ -max 0 [get_ports {
{%- for pin in inputs %} @{pin.name}@{% if pin.width > 1 %}[*]{% endif %}{% endfor %} }]
set_output_delay -clock @{clock}@ -max 0 [get_ports {
{%- for pin in outputs %} @{pin.name}@{% if pin.width > 1 %}[*]{% endif %}{% endfor %} }]
{%- endif %}
{%- if !slow_inputs.is_empty() %}

# The pins of the top serve to keep the engine, at any speed: two registers stand behind the reset, and shift registers behind
# the others.
set_false_path -from [get_ports {
{%- for pin in slow_inputs %} @{pin}@{% endfor %} }]
set_false_path -to [get_ports {
{%- for pin in slow_outputs %} @{pin}@{% endfor %} }]
{%- endif %}
