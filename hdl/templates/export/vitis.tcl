# @{made}@: packages @{top}@ as a kernel of Vitis, @{top}@.xo.
#
#     vivado -mode batch -source @{top}@_vitis.tcl
#
# FPGA_PART names the device of the card.
set folder [file dirname [file normalize [info script]]]
set package [file join $folder @{top}@_package]
set part [expr {[info exists ::env(FPGA_PART)] ? $::env(FPGA_PART) : "xcu200-fsgd2104-2-e"}]

create_project -force @{top}@_kernel [file join $folder @{top}@_kernel] -part $part
add_files -norecurse [list \
{%- for file in files %}
    [file join $folder @{file}@] \
{%- endfor %}
]
set_property top @{top}@ [current_fileset]
update_compile_order -fileset sources_1
ipx::package_project -root_dir $package -vendor pairforge -library kernel -taxonomy /KernelIP -import_files -set_current true
set core [ipx::current_core]
set_property name @{top}@ $core
set_property version 1.0 $core
set_property sdx_kernel true $core
set_property sdx_kernel_type rtl $core
foreach bus {@{control}@ @{commands}@ @{results}@} {
    ipx::associate_bus_interfaces -busif $bus -clock ap_clk $core
}
ipx::create_xgui_files $core
ipx::update_checksums $core
ipx::save_core $core
close_project
package_xo -force -xo_path [file join $folder @{top}@.xo] -kernel_name @{top}@ -ip_directory $package -kernel_xml [file join $folder @{top}@_kernel.xml]
