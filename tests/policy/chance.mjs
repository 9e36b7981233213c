// Chance from a seed: the same seed, the same choices.
export class Chance {
  constructor(seed) { this.state = seed >>> 0; }
  next() { // mulberry32
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  }
  int(n) { return Math.floor(this.next() * n); }
  chance(p) { return this.next() < p; }
  pick(list) { return list[this.int(list.length)]; }
  many(n, f) { return Array.from({ length: this.int(n + 1) }, () => f()); }
}
