//! The input and output files of an FMM.

use super::ranks::table as ranks_table;
use super::slice::Slice;
use super::{Args, BYTES_A_PARTICLE, NATIVE, roofline, table};
use fmm::data::input::{Input, SOURCES, columns_of, csv_head, csv_rows, to_csv};
use fmm::data::particles::{Field, Particles};
use fmm::data::problem::Geometry;
use fmm::data::random::{Charge, Distribution};
use fmm::data::{self, npy, random};
use fmm::octree::stats::Stats;
use fmm::octree::{Coincident, MOST_PARTICLES, Plan};
use pairforge::fmm::ranks::same::{self, Content};
use pipelines::predict::roofline::Prediction;
use ranks::comm::{Comm, Tag};
use ranks::measured::RanksReport;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use terminal::failure::Failure;
use terminal::files::{self, Files, Format};
use terminal::report::Data;
use terminal::{input, memory, output, particles, source, vtk};

impl Args {
    pub fn files(&self) -> Files {
        let m2l = self.m2l.iter().filter(|name| *name != NATIVE);
        let files = Files::default().particles("--particles", &self.particles).particles("--targets", &self.targets);
        let files = self.predict.files(files.kernels("--p2p", &self.p2p).kernels("--m2l", m2l));
        files
            .writes("-o", &self.output, files::TABLE)
            .writes("--at-sources", &self.at_sources, files::TABLE)
            .writes("--json", &self.json, files::JSON)
            .writes("--report", &self.report, files::HTML)
            .writes("--save-particles", &self.save_particles, files::TABLE)
    }
}

pub fn input(args: &Args) -> Result<Input, Failure> {
    let sources = sources(args)?;
    let mut targets = targets(args)?;
    if args.at_sources.is_some() {
        // The particles are the first targets; none acts on itself, since it is at its own place.
        let own = sources.particles.columns();
        targets = targets.map(|t| {
            let mut own = own.into_iter();
            t.map(|behind| [own.next().expect("there are as many axes"), &behind].concat())
        });
    }
    Ok(Input { targets, ..sources })
}

fn sources(args: &Args) -> Result<Input, Failure> {
    let Some(path) = &args.particles else {
        let distribution: Distribution = args.dist.into();
        let charge = args.charge.map_or(distribution.default_charge(), Charge::from);
        if args.n > MOST_PARTICLES {
            return Err(Failure::Usage(format!("--n takes up to {MOST_PARTICLES} particles, not {}", args.n)));
        }
        memory::check(args.n as u64 * BYTES_A_PARTICLE, format!("an FMM of {} particles", args.n))?;
        let particles = random::generate(args.n, distribution, charge, args.seed);
        return Ok(particles.into());
    };
    particles::read(path, &particles::SOURCES, args.text)
}

/// A rank's part of the input.
pub struct RankInput {
    pub input: Input,
    /// Numbers of sources and targets in all; 0 for targets that are the sources.
    pub counts: [usize; 2],
    /// The files, by which ranks find out whether they have read the same.
    pub read: Vec<(PathBuf, Content)>,
}

/// One rank's part of the input. An array (`.npy`) is read by its rows; every rank reads the whole of other files.
pub fn part(args: &Args, slice: &dyn Fn(usize) -> Range<usize>) -> Result<RankInput, Failure> {
    let cut = |column: &Vec<f64>, range: Range<usize>| column[range].to_vec();
    let mut count = 0;
    let mut read = Vec::new();
    if args.at_sources.is_some() {
        // Targets of two files are shared out as one list.
        [&args.particles, &args.targets].into_iter().flatten().try_for_each(|path| for_all_ranks(path))?;
        let whole = input(args)?;
        read.extend(args.particles.iter().map(|path| (path.clone(), same::of_sources(&whole))));
        let targets = whole.targets.as_ref().map(|t| {
            count = t[0].len();
            let given = t.iter().map(|column| &column[whole.particles.len()..]);
            read.extend(args.targets.iter().map(|path| (path.clone(), same::of_columns(given.clone()))));
            t.each_ref().map(|column| cut(column, slice(column.len())))
        });
        let n = whole.particles.len();
        return Ok(RankInput { input: Input { targets, ..whole.part(slice(n)) }, counts: [n, count], read });
    }
    let targets = match &args.targets {
        None => None,
        Some(path) => match rows(path, slice, &data::input::TARGETS)? {
            Some((bytes, n)) => {
                let first = slice(n).start;
                count = n;
                read.push((path.clone(), Content::File(path.clone())));
                let targets = data::input::targets_from_npy(&bytes, &mut Vec::new());
                Some(targets.map_err(|e| input::wrong(path, e.behind(first)))?)
            }
            None => targets(args)?.map(|t| {
                count = t[0].len();
                read.push((path.clone(), same::of_columns(t.iter().map(|column| &column[..]))));
                t.map(|column| cut(&column, slice(column.len())))
            }),
        },
    };
    let Some(path) = &args.particles else {
        let distribution: Distribution = args.dist.into();
        let charge = args.charge.map_or(distribution.default_charge(), Charge::from);
        if args.n > MOST_PARTICLES {
            return Err(Failure::Usage(format!("--n takes up to {MOST_PARTICLES} particles, not {}", args.n)));
        }
        let range = slice(args.n);
        memory::check(range.len() as u64 * BYTES_A_PARTICLE, format!("an FMM of {} particles a rank", range.len()))?;
        let particles = random::generate_part(args.n, range, distribution, charge, args.seed);
        return Ok(RankInput { input: Input { targets, ..particles.into() }, counts: [args.n, count], read });
    };
    if let Some((bytes, n)) = rows(path, slice, &SOURCES)? {
        let input = Input::from_npy(&bytes).map_err(|e| Failure::file(path, e.behind(slice(n).start)))?;
        read.push((path.clone(), Content::File(path.clone())));
        return Ok(RankInput { input: Input { targets, ..input }, counts: [n, count], read });
    }
    let whole = sources(args)?;
    read.push((path.clone(), same::of_sources(&whole)));
    let (n, range) = (whole.particles.len(), slice(whole.particles.len()));
    Ok(RankInput { input: Input { targets, ..whole.part(range) }, counts: [n, count], read })
}

/// Refuses what one process of many alone could read.
fn for_all_ranks(path: &Path) -> Result<(), Failure> {
    match input::is_standard(path) {
        true => {
            let why = "standard input comes to one process alone; name a file that all ranks can read";
            Err(Failure::Usage(why.into()))
        }
        false => Ok(()),
    }
}

/// A rank's rows of an array as a file of their own, and how many rows there are in all. `None` for other files, and for those that
/// are refused as a whole, such as those of another `shape`.
fn rows(
    path: &Path,
    slice: &dyn Fn(usize) -> Range<usize>,
    shape: &npy::Shape,
) -> Result<Option<(Vec<u8>, usize)>, Failure> {
    for_all_ranks(path)?;
    let path = &particles::located(path).file;
    let wrong = |e: std::io::Error| Failure::file(path, format!("cannot be read: {e}"));
    let found = path.metadata().map_err(wrong)?;
    if !found.is_file() {
        return Ok(None);
    }
    let mut file = File::open(path).map_err(wrong)?;
    let mut head = Vec::new();
    Read::by_ref(&mut file).take(npy::HEAD as u64).read_to_end(&mut head).map_err(wrong)?;
    let Some(rows) = npy::rows(&head, found.len(), shape) else { return Ok(None) };
    let range = slice(rows.count);
    file.seek(SeekFrom::Start((rows.start + range.start * rows.bytes) as u64)).map_err(wrong)?;
    let mut bytes = vec![0; range.len() * rows.bytes];
    file.read_exact(&mut bytes).map_err(wrong)?;
    Ok(Some((rows.file(&bytes), rows.count)))
}

/// The targets, where they are not the particles.
fn targets(args: &Args) -> Result<Option<[Vec<f64>; 3]>, Failure> {
    let Some(path) = &args.targets else { return Ok(None) };
    particles::read(path, &particles::TARGETS, args.text).map(Some)
}

/// Particles with one charge each, which are their own targets.
pub fn plain(args: &Args) -> Result<Particles, Failure> {
    let input = input(args)?;
    match input.is_plain() {
        true => Ok(input.particles),
        false => Err(Failure::Usage("a prediction is for particles with one charge each".into())),
    }
}

/// Writes the particles where that is asked for.
pub fn save_particles(args: &Args, input: &Input) -> Result<(), Failure> {
    let Some(path) = &args.save_particles else { return Ok(()) };
    match files::table(path) {
        (Format::Npy, path) => output::write_with(&path, |out: &mut dyn Write| out.write_all(&input.to_npy())),
        _ => save(path, &input.columns(), &[]),
    }
}

/// The same where each rank has its slice of `n` particles: ranks bring their rows into the form of the file, and the first one writes
/// them behind each other, a rank's at a time.
pub fn save_particles_of_ranks(args: &Args, input: &Input, n: usize, comm: &dyn Comm) -> Result<(), Failure> {
    let Some(path) = &args.save_particles else { return Ok(()) };
    if is_vtk(path) {
        // Its columns do not lie row by row, so that one rank makes it of all particles.
        return if comm.rank() == 0 { save_particles(args, &sources(args)?) } else { Ok(()) };
    }
    let columns = input.columns();
    let (format, path) = files::table(path);
    let (head, rows) = match format {
        Format::Npy => {
            let (plain, mut rows) = (columns.iter().map(|c| c.1).collect::<Vec<_>>(), Vec::new());
            npy::put_rows(&mut rows, &plain);
            let names: Vec<&str> = columns.iter().map(|c| &c.0[..]).collect();
            (npy::head_named(n, &names, &SOURCES), rows)
        }
        _ => (csv_head(&columns).into_bytes(), csv_rows(&columns).into_bytes()),
    };
    if comm.rank() > 0 {
        return comm.send(0, Tag::Rows, rows).map_err(|e| Failure::Tool(e.to_string()));
    }
    output::write_with(&path, |out: &mut dyn Write| {
        out.write_all(&head)?;
        out.write_all(&rows)?;
        drop(rows);
        (1..comm.size()).try_for_each(|from| {
            let rows = comm.receive(from, Tag::Rows).map_err(std::io::Error::other)?;
            out.write_all(&rows)
        })
    })
}

/// Whether a file of this name needs the points beside the results at them.
pub fn is_vtk(path: &Path) -> bool {
    matches!(files::table(path).0, Format::Vtk | Format::Vtu)
}

/// The results of a run.
pub struct Results<'a> {
    pub fields: &'a [Field],
    pub stats: &'a Stats,
    pub ranks: Option<&'a RanksReport>,
    /// The tree, where it is one of the CPU's.
    pub plan: Option<&'a Plan>,
}

/// Writes what was asked for. Of `at`, files of VTK alone take the points.
pub fn write(args: &Args, at: &Geometry, results: &Results) -> Result<(), Failure> {
    let Results { fields, stats, ranks, plan } = *results;
    let points = at.targets.unwrap_or(at.sources);
    match &args.at_sources {
        None => args.output.iter().try_for_each(|path| save(path, &columns_of(fields), &points))?,
        Some(own) => {
            let n = stats.n.min(points[0].len());
            let (at_sources, at_targets): (Vec<Field>, Vec<Field>) =
                fields.iter().map(|field| field.clone().split_at(stats.n)).map(|[own, other]| (own, other)).unzip();
            save(own, &columns_of(&at_sources), &points.map(|axis| &axis[..n]))?;
            let behind = points.map(|axis| &axis[n..]);
            args.output.iter().try_for_each(|path| save(path, &columns_of(&at_targets), &behind))?;
        }
    }
    let mut report = Report { stats, ranks, memory: Memory { peak: memory::peak() }, machines: None, slice: None };
    if args.report.is_some() {
        (report.machines, report.slice) = (Some(predicted(args, stats)?), plan.and_then(Slice::of));
    }
    if let Some(path) = &args.json {
        output::write_json(path, &report)?;
    }
    if let Some(path) = &args.report {
        let page = table::page(stats, &Data::new(&report), report.slice.as_ref());
        output::write_text(path, &page.html()?)?;
    }
    if args.coincident.is_none() && stats.coincident == Some(Coincident::Include) {
        output::tell(
            "note: the kernel is not 0 at distance 0, so each particle acts on itself too, and on those in exactly its place; \
             --coincident exclude leaves these pairs out, and --coincident include leaves this note out\n",
        );
    }
    table::warnings(stats).iter().for_each(|warning| output::tell(&format!("note: {warning}\n")));
    output::print(&(table::text(stats) + &ranks.map_or(String::new(), ranks_table)))
}

/// P2P on GPUs and boards; nothing where the targets are not the particles.
fn predicted(args: &Args, stats: &Stats) -> Result<Vec<Prediction>, Failure> {
    if args.targets.is_some() {
        return Ok(Vec::new());
    }
    let graph = source::load(args.p2p.as_deref().unwrap_or("p2p"))?.1;
    roofline::predictions(&graph, &args.engine, &roofline::Ran { n: stats.n, pairs: stats.pairs.p2p })
}

/// The keys of `--json`.
#[derive(serde::Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    stats: &'a Stats,
    #[serde(skip_serializing_if = "Option::is_none")]
    ranks: Option<&'a RanksReport>,
    memory: Memory,
    /// P2P as other machines would take it, and the picture of the tree, with `--report`.
    #[serde(skip_serializing_if = "Option::is_none")]
    machines: Option<Vec<Prediction>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slice: Option<Slice>,
}

/// Memory of the process.
#[derive(serde::Serialize)]
pub struct Memory {
    /// The most bytes that it has had; null where the system does not say.
    pub peak: Option<u64>,
}

/// Writes an array, CSV or points of VTK, by the name. Points that are not given are among the columns.
pub fn save(path: &Path, columns: &[(String, &[f64])], points: &[&[f64]]) -> Result<(), Failure> {
    let (format, path) = files::table(path);
    let is_axis = |name: &str| points.is_empty() && ["x", "y", "z"].contains(&name);
    let values: Vec<(String, &[f64])> = columns.iter().filter(|c| !is_axis(&c.0)).cloned().collect();
    let axis = |k: usize| match points.is_empty() {
        true => columns.iter().find(|c| c.0 == ["x", "y", "z"][k]).map(|c| c.1),
        false => points.get(k).copied(),
    };
    let cloud = vtk::Cloud { points: [0, 1, 2].map(axis), columns: &values };
    output::write_with(&path, |out: &mut dyn Write| match format {
        Format::Npy => out.write_all(&npy::write_columns(columns)),
        Format::Csv => out.write_all(to_csv(columns).as_bytes()),
        Format::Vtk => vtk::write_legacy(out, &cloud),
        Format::Vtu => vtk::write_xml(out, &cloud),
    })
}
