//! `pairforge board`: the description of a board of one's own, begun from one that is known; and boards by name or description.

use askama::Template;
use fmm::shown::shown;
use hdl::board::{self, BOARDS, Board, OPEN, pll};
use std::path::Path;
use terminal::failure::Failure;
use terminal::files::Files;
use terminal::{input, output, say};

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Begin a board of your own: a folder with its description, board.toml, and its pins to be filled in
    New {
        /// Name of the board and of the folder to make: small letters, digits and -
        #[arg(value_name = "NAME")]
        name: String,
        /// The board that it is like (see `pairforge list boards`): best one of the same FPGA family
        #[arg(long, value_name = "BOARD")]
        like: String,
    },
}

/// The file that describes a board.
const DESCRIPTION: &str = "board.toml";

#[derive(Template)]
#[template(path = "board/board.toml", escape = "none")]
struct Description<'a> {
    name: &'a str,
    like: &'a Board,
    constraints: &'a str,
    pll: &'a str,
    kinds: String,
    /// The oscillator, the usual clock, and that of full devices.
    mhz: [String; 3],
    fixed: String,
    route: String,
    loader: String,
}

impl Args {
    /// None: the folder is new, or the command refuses.
    pub fn files(&self) -> Files {
        Files::default()
    }
}

pub fn run(args: Args) -> Result<(), Failure> {
    match args.what {
        What::New { name, like } => begin(&name, &like),
    }
}

/// Makes the folder of a board, which must not be there yet.
fn begin(name: &str, like: &str) -> Result<(), Failure> {
    let (like, [constraints, pins]) = known(like)?;
    board::check_name(name).map_err(Failure::Usage)?;
    if board::board(name).is_some() {
        return Err(Failure::Usage(format!("the board {name} is known; give your own another name")));
    }
    let quoted = |words: &[&str]| words.iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(", ");
    let of_family = pll::KINDS.iter().filter(|kind| kind.1.target == like.device.target);
    let kinds: Vec<&str> = of_family.clone().map(|kind| kind.0).collect();
    let kind = of_family.into_iter().find(|kind| std::ptr::eq(kind.1, like.pll));
    let description = Description {
        name,
        like,
        constraints,
        pll: kind.map_or("", |kind| kind.0),
        kinds: kinds.join(", "),
        mhz: [like.oscillator_mhz, like.usual_mhz, like.full_mhz].map(|mhz| format!("{mhz:?}")),
        fixed: like.fixed_pins.iter().map(|(pin, high)| format!("{pin} = {high}")).collect::<Vec<_>>().join(", "),
        route: quoted(like.device.route),
        loader: quoted(like.loader),
    };
    let text = description.render().expect("rendering into a string cannot fail") + "\n";
    let mut tree = output::Tree::new(Path::new(name));
    tree.add_text(DESCRIPTION, text);
    tree.add_text(constraints, open(pins));
    tree.finish_new()?;
    say!(
        "{name}/ has {DESCRIPTION} and {constraints}; put a pin in the place of each {OPEN} in {constraints}, look through \
         {DESCRIPTION}, and make a bitstream with `pairforge synth FILE --board ./{name} -o DIR`"
    )?;
    Ok(())
}

/// A board that is known, and its file of pins.
fn known(name: &str) -> Result<(&'static Board, [&'static str; 2]), Failure> {
    let known = board::board(name).zip(board::pins(name));
    known.ok_or_else(|| none(name))
}

fn none(name: &str) -> Failure {
    let known = BOARDS.iter().map(|b| b.name).collect::<Vec<_>>().join(", ");
    Failure::Usage(format!(
        "there is no board `{}`; the boards are {known}, and folders of your own, such as ./mine",
        shown(name)
    ))
}

/// Constraints without the places of the pins: the words behind SITE in .lpf and PACKAGE_PIN in .xdc, the last ones of the lines of .cst
/// and .pcf that begin with IO_LOC and set_io, and the first ones behind set_location_assignment in .tcl.
fn open(pins: &str) -> String {
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let place = match words[..] {
            [.., "SITE", place] | ["IO_LOC", _, place] | ["set_io", .., place] => place.trim_matches(['"', ';']),
            ["set_property", "-dict", "{PACKAGE_PIN", place, ..] | ["set_location_assignment", place, ..] => place,
            _ => return line.to_string(),
        };
        let at =
            line.find(&format!(" {place}")).map_or_else(|| line.rfind(place), |at| Some(at + 1)).unwrap_or(line.len());
        format!("{}{OPEN}{}", &line[..at], &line[at + place.len()..])
    };
    pins.lines().map(|text| line(text) + "\n").collect()
}

/// A board by its name, or of one's own by its folder or the file in it that describes it.
pub fn find(word: &str) -> Result<&'static Board, Failure> {
    if let Some(board) = board::board(word) {
        return Ok(board);
    }
    let path = Path::new(word);
    if !word.contains('/') && path.extension().is_none_or(|e| e != "toml") {
        return Err(none(word));
    }
    let path = if path.is_dir() { path.join(DESCRIPTION) } else { path.to_path_buf() };
    let text = input::text(&path, "; begin one with `pairforge board new NAME --like BOARD`")?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let beside = |name: &str| {
        let plain = Path::new(name).components().count() == 1;
        if !plain {
            return Err(format!("`{}` is no file beside {DESCRIPTION}", shown(name)));
        }
        let text = input::kernel(&folder.join(name)).and_then(|b| String::from_utf8(b).map_err(|e| e.to_string()));
        text.map_err(|why| format!("{name} cannot be read: {why}"))
    };
    let board = Board::read(&text, &beside).map_err(|why| Failure::file(&path, why))?;
    if board::board(board.name).is_some() {
        // What was made for one would go onto the other.
        let text = format!("is named {} as a board that is known; give it another name", board.name);
        return Err(Failure::file(&path, text));
    }
    Ok(Box::leak(Box::new(board)))
}
