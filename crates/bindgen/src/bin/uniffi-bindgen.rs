//! UniFFI's Kotlin generator.

fn main() {
    uniffi::uniffi_bindgen_main();
}
