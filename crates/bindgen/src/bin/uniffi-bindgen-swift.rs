//! UniFFI's Swift generator.

fn main() {
    uniffi::uniffi_bindgen_swift();
}
