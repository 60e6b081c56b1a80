# @{common.made}@: a Quartus project of the engine alone in a device, for its area and its clock.
#
#     quartus_sh -t @{common.script}@            makes the project
#     quartus_sh --flow compile @{common.top}@   compiles it; the clock is in output_files/@{common.top}@.sta.rpt
#
# FPGA_FAMILY and FPGA_PART in the environment name another device.
package require ::quartus::project

cd [file dirname [file normalize [info script]]]
set family "@{common.device.more}@"
set part @{common.device.part}@
if {[info exists ::env(FPGA_FAMILY)]} { set family $::env(FPGA_FAMILY) }
if {[info exists ::env(FPGA_PART)]} { set part $::env(FPGA_PART) }

project_new @{common.top}@ -overwrite
set_global_assignment -name FAMILY $family
set_global_assignment -name DEVICE $part
set_global_assignment -name TOP_LEVEL_ENTITY @{common.top}@
set_global_assignment -name PROJECT_OUTPUT_DIRECTORY output_files
foreach file {
{%- for file in common.files %}
    @{file}@
{%- endfor %}
} {
    set_global_assignment -name VERILOG_FILE $file
}
set_global_assignment -name SDC_FILE @{common.constraints}@
# MAX 10 gives memories their first contents, such as tables of functions, in these modes alone.
if {$family eq "MAX 10"} {
    set_global_assignment -name INTERNAL_FLASH_UPDATE_MODE "SINGLE IMAGE WITH ERAM"
}
# The engine has more ports than a device has pins, and in a design they lie inside.
foreach port {
{%- for pin in pins %}{% if !pin.is_clock() %}
    @{pin.name}@{% if pin.width > 1 %}[*]{% endif %}
{%- endif %}{% endfor %}
} {
    set_instance_assignment -name VIRTUAL_PIN ON -to $port
}
export_assignments
project_close
