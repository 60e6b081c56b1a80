//! Points with their values for ParaView and VisIt: legacy VTK files and VTU, both binary, each point a vertex.

use std::io::{self, Write};

/// A column of values with its name.
pub type Named<'a> = (String, &'a [f64]);

/// Points, and columns of values at them.
pub struct Cloud<'a> {
    /// Coordinates; a missing axis is 0.
    pub points: [Option<&'a [f64]>; 3],
    pub columns: &'a [Named<'a>],
}

/// Values at points: of one component, or a vector, of which missing components are 0.
struct Values<'a> {
    name: String,
    parts: Vec<Option<&'a [f64]>>,
}

/// Columns that are components of a vector: how the first one's name begins, those of the others, and the name of the vector.
const VECTORS: [([&str; 3], &str); 2] = [(["gx", "gy", "gz"], "gradient"), (["px", "py", "pz"], "dipole")];

impl<'a> Cloud<'a> {
    fn len(&self) -> usize {
        self.points.iter().flatten().next().map_or(0, |axis| axis.len())
    }

    /// The columns, those of a vector together.
    fn values(&self) -> Vec<Values<'a>> {
        let of = |name: String| self.columns.iter().find(|c| c.0 == name).map(|c| c.1);
        let mut all = Vec::new();
        for (name, column) in self.columns {
            let vector = VECTORS.iter().find_map(|(axes, vector)| {
                let k = axes.iter().position(|axis| name.starts_with(axis))?;
                Some((axes, k, format!("{vector}{}", &name[2..]), &name[2..]))
            });
            match vector {
                Some((axes, 0, name, set)) => {
                    let parts = axes.iter().map(|axis| of(format!("{axis}{set}"))).collect();
                    all.push(Values { name, parts });
                }
                Some(_) => {}
                None => all.push(Values { name: name.clone(), parts: vec![Some(column)] }),
            }
        }
        all
    }
}

/// Writes the numbers of some columns point by point.
fn rows(out: &mut dyn Write, parts: &[Option<&[f64]>], n: usize, bytes: fn(f64) -> [u8; 8]) -> io::Result<()> {
    for k in 0..n {
        for part in parts {
            out.write_all(&bytes(part.map_or(0.0, |part| part[k])))?;
        }
    }
    Ok(())
}

/// Writes a legacy VTK file, whose numbers are big-endian.
pub fn write_legacy(out: &mut dyn Write, cloud: &Cloud) -> io::Result<()> {
    let n = cloud.len();
    let cell = |k: usize| {
        u32::try_from(k)
            .map(u32::to_be_bytes)
            .map_err(|_| io::Error::other("too many points for a .vtk file; write .vtu"))
    };
    write!(out, "# vtk DataFile Version 3.0\nPairforge\nBINARY\nDATASET UNSTRUCTURED_GRID\nPOINTS {n} double\n")?;
    rows(out, &cloud.points, n, f64::to_be_bytes)?;
    write!(out, "\nCELLS {n} {}\n", 2 * n)?;
    for k in 0..n {
        out.write_all(&1u32.to_be_bytes())?;
        out.write_all(&cell(k)?)?;
    }
    write!(out, "\nCELL_TYPES {n}\n")?;
    (0..n).try_for_each(|_| out.write_all(&(VERTEX as u32).to_be_bytes()))?;
    write!(out, "\nPOINT_DATA {n}\n")?;
    for Values { name, parts } in cloud.values() {
        match parts.len() {
            1 => write!(out, "SCALARS {name} double 1\nLOOKUP_TABLE default\n")?,
            _ => writeln!(out, "VECTORS {name} double")?,
        }
        rows(out, &parts, n, f64::to_be_bytes)?;
        writeln!(out)?;
    }
    Ok(())
}

/// The number of VTK's cell of a point.
const VERTEX: u8 = 1;

/// Writes a VTU file: XML, and behind it the numbers, little-endian and as they are.
pub fn write_xml(out: &mut dyn Write, cloud: &Cloud) -> io::Result<()> {
    let n = cloud.len();
    let values = cloud.values();
    let mut offset = 0;
    let mut array = |kind: &str, name: &str, components: usize, bytes: usize| {
        let at = offset;
        offset += 8 + bytes;
        format!(
            "<DataArray type=\"{kind}\" Name=\"{name}\" NumberOfComponents=\"{components}\" format=\"appended\" offset=\"{at}\"/>\n"
        )
    };
    let mut head = String::from(
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" byte_order=\"LittleEndian\" header_type=\"UInt64\">\n",
    );
    head += &format!("<UnstructuredGrid>\n<Piece NumberOfPoints=\"{n}\" NumberOfCells=\"{n}\">\n<Points>\n");
    head += &array("Float64", "Points", 3, 24 * n);
    head += "</Points>\n<Cells>\n";
    head += &array("Int64", "connectivity", 1, 8 * n);
    head += &array("Int64", "offsets", 1, 8 * n);
    head += &array("UInt8", "types", 1, n);
    head += "</Cells>\n<PointData>\n";
    for Values { name, parts } in &values {
        head += &array("Float64", name, parts.len(), 8 * n * parts.len());
    }
    head += "</PointData>\n</Piece>\n</UnstructuredGrid>\n<AppendedData encoding=\"raw\">\n_";
    out.write_all(head.as_bytes())?;
    let size = |out: &mut dyn Write, bytes: usize| out.write_all(&(bytes as u64).to_le_bytes());
    size(out, 24 * n)?;
    rows(out, &cloud.points, n, f64::to_le_bytes)?;
    for first in [0, 1] {
        size(out, 8 * n)?;
        (first..first + n).try_for_each(|k| out.write_all(&(k as u64).to_le_bytes()))?;
    }
    size(out, n)?;
    (0..n).try_for_each(|_| out.write_all(&[VERTEX]))?;
    for Values { parts, .. } in &values {
        size(out, 8 * n * parts.len())?;
        rows(out, parts, n, f64::to_le_bytes)?;
    }
    out.write_all(b"\n</AppendedData>\n</VTKFile>\n")
}
