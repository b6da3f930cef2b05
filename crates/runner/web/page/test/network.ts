// A SOCKS 5 proxy (RFC 1928) between the browser and the runner, whose connections a test closes or stalls.
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/** Length of the client's greeting that offers one method, and of a request up to the length of a name. */
const GREETING = 3;
const REQUEST = 5;

/** The kind of an address that is a name, as which browsers send those of IPv4 too. */
const NAME = 3;

export class Network {
  readonly #server: Server;
  readonly #pairs = new Set<readonly [Socket, Socket]>();
  /** Number of connections that were made. */
  made = 0;

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<Network> {
    const server = createServer();
    const network = new Network(server);
    server.on("connection", (socket) => network.#accept(socket));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return network;
  }

  /** The options of a browser's context for this network. */
  get proxy(): { readonly server: string; readonly bypass: string } {
    return { server: `socks5://127.0.0.1:${(this.#server.address() as AddressInfo).port}`, bypass: "<-loopback>" };
  }

  /** Cuts all connections. Returns how many there were. */
  cut(): number {
    const count = this.#pairs.size;
    for (const pair of this.#pairs) for (const socket of pair) socket.destroy();
    return count;
  }

  /**
   * From now on nothing arrives on the connections that there are, and the browser does not learn of it, as when a
   * machine sleeps. What it sends on one of them is answered with a reset.
   */
  silence(): void {
    for (const [browser, runner] of this.#pairs) {
      runner.unpipe(browser);
      browser.unpipe(runner);
      runner.destroy();
      browser.on("data", () => browser.destroy()).resume();
    }
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(browser: Socket): void {
    browser.on("error", () => {});
    void this.#handshake(browser).catch(() => browser.destroy());
  }

  async #handshake(browser: Socket): Promise<void> {
    await exactly(browser, GREETING);
    browser.write(Uint8Array.of(5, 0));
    const request = await exactly(browser, REQUEST);
    const rest = await exactly(browser, request[4]! + 2);
    if (request[1] !== 1 || request[3] !== NAME) return void browser.destroy();
    const runner = connect(rest.readUInt16BE(request[4]!), rest.toString("latin1", 0, request[4]!));
    runner.on("error", () => browser.destroy());
    runner.on("connect", () => {
      this.made += 1;
      const pair = [browser, runner] as const;
      this.#pairs.add(pair);
      browser.on("close", () => {
        this.#pairs.delete(pair);
        runner.destroy();
      });
      browser.write(Uint8Array.of(5, 0, 0, 1, 0, 0, 0, 0, 0, 0));
      browser.pipe(runner);
      runner.pipe(browser);
    });
  }
}

/** Reads so many bytes. */
async function exactly(socket: Socket, length: number): Promise<Buffer> {
  for (;;) {
    const read = socket.read(length) as Buffer | null;
    if (read) return read;
    await new Promise((resolve, reject) => {
      socket.once("readable", resolve);
      socket.once("close", () => reject(new Error("the connection was closed")));
    });
  }
}
