//! UniFFI's generator for Kotlin.

fn main() {
    uniffi::uniffi_bindgen_main();
}
