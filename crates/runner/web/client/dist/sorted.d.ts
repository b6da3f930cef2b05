/** A list that is sorted by number. Appending the largest number takes constant time. */
export declare class SortedNumbers {
    #private;
    get values(): readonly number[];
    get length(): number;
    add(number: number): void;
    remove(number: number): void;
}
