//! The call as plain functions over memory: the page writes a text where [`room`] says, and reads the answer where [`call`] says.

use crate::Page;
use std::cell::RefCell;

thread_local! {
    static PAGE: RefCell<Page> = RefCell::default();
    /// The text of a call, and then that of its answer.
    static TEXT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Makes room for a text of so many bytes, and says where.
#[unsafe(no_mangle)]
pub extern "C" fn room(bytes: usize) -> *mut u8 {
    TEXT.with_borrow_mut(|text| {
        *text = vec![0; bytes];
        text.as_mut_ptr()
    })
}

/// Takes the text as the bytes of the file that the next call is about.
#[unsafe(no_mangle)]
pub extern "C" fn attach() {
    PAGE.with_borrow_mut(|page| page.bytes = TEXT.take());
}

/// The bytes beside the last answer: where they are.
#[unsafe(no_mangle)]
pub extern "C" fn bytes() -> *const u8 {
    PAGE.with_borrow(|page| page.bytes.as_ptr())
}

/// How many they are.
#[unsafe(no_mangle)]
pub extern "C" fn bytes_length() -> usize {
    PAGE.with_borrow(|page| page.bytes.len())
}

/// Gives their memory back.
#[unsafe(no_mangle)]
pub extern "C" fn bytes_done() {
    PAGE.with_borrow_mut(|page| page.bytes = Vec::new());
}

/// Answers the text: where the answer is.
#[unsafe(no_mangle)]
pub extern "C" fn call() -> *const u8 {
    let asked = TEXT.take();
    let answer = PAGE.with_borrow_mut(|page| page.call(&String::from_utf8_lossy(&asked)));
    TEXT.with_borrow_mut(|text| {
        *text = answer.into_bytes();
        text.as_ptr()
    })
}

/// The bytes of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn length() -> usize {
    TEXT.with_borrow(Vec::len)
}

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// Takes the words of a panic, which then ends the instance.
    fn panicked(text: *const u8, bytes: usize);
}

/// Has panics said to the page.
#[unsafe(no_mangle)]
pub extern "C" fn start() {
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.to_string();
        // SAFETY: the text outlives the call, which reads it.
        unsafe { panicked(text.as_ptr(), text.len()) }
    }));
}
