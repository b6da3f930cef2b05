/** Returns the length of a text in UTF-8, in bytes. */
export declare function utf8Length(text: string): number;
/** Returns the first bytes of a text, as text. The bytes end between two characters. */
export declare function utf8Prefix(text: string, bytes: number): string;
