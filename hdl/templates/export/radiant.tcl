# @{common.made}@: a Radiant project of the engine alone in a device, for its area and its clock.
#
#     radiantc @{common.script}@   makes the project; synthesis, map, place and route are then started in Radiant
#
# The top has four pins, since the engine has more ports than a device has pins. FPGA_PART and FPGA_PERFORMANCE in the
# environment name another device and its speed grade.
cd [file dirname [file normalize [info script]]]
set part @{common.device.part}@
set performance @{common.device.more}@
if {[info exists ::env(FPGA_PART)]} { set part $::env(FPGA_PART) }
if {[info exists ::env(FPGA_PERFORMANCE)]} { set performance $::env(FPGA_PERFORMANCE) }

prj_create -name @{common.top}@ -impl impl_1 -dev $part -performance $performance -synthesis lse
foreach file {
{%- for file in common.files %}
    @{file}@
{%- endfor %}
} {
    prj_add_source $file
}
prj_add_source @{common.constraints}@
prj_set_impl_opt -impl impl_1 top @{common.top}@
prj_save
prj_close
