# @{common.made}@: a Vivado project of the engine out of context, without pins, for its area and its clock.
#
#     vivado -mode batch -source @{common.script}@   makes the project @{common.top}@.xpr in the folder vivado
#
# In the project: launch_runs impl_1; wait_on_run impl_1; open_run impl_1; report_timing_summary
#
# FPGA_PART in the environment names another device.
cd [file dirname [file normalize [info script]]]
set part @{common.device.part}@
if {[info exists ::env(FPGA_PART)]} { set part $::env(FPGA_PART) }

create_project @{common.top}@ vivado -part $part -force
foreach file {
{%- for file in common.files %}
    @{file}@
{%- endfor %}
} {
    add_files -norecurse $file
}
add_files -fileset constrs_1 -norecurse @{common.constraints}@
# They name the engine's ports, so they hold out of context alone.
set_property USED_IN {synthesis implementation out_of_context} [get_files @{common.constraints}@]
set_property top @{common.top}@ [current_fileset]
set_property -name {STEPS.SYNTH_DESIGN.ARGS.MORE OPTIONS} -value {-mode out_of_context} -objects [get_runs synth_1]
update_compile_order -fileset sources_1
close_project
