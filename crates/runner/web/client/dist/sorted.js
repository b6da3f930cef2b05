/** A list that is sorted by number. Appending the largest number takes constant time. */
export class SortedNumbers {
    #numbers = [];
    get values() {
        return this.#numbers;
    }
    get length() {
        return this.#numbers.length;
    }
    add(number) {
        const last = this.#numbers.at(-1);
        if (last === undefined || number > last) {
            this.#numbers.push(number);
            return;
        }
        const at = this.#position(number);
        if (this.#numbers[at] !== number)
            this.#numbers.splice(at, 0, number);
    }
    remove(number) {
        const at = this.#position(number);
        if (this.#numbers[at] === number)
            this.#numbers.splice(at, 1);
    }
    /** Returns the index of the first number that is not less. */
    #position(number) {
        let from = 0;
        let to = this.#numbers.length;
        while (from < to) {
            const middle = (from + to) >> 1;
            if (this.#numbers[middle] < number)
                from = middle + 1;
            else
                to = middle;
        }
        return from;
    }
}
