package dev.bowline

import java.nio.file.Files
import java.nio.file.Path

/** A program of ours, until it is closed. */
class Running(program: String, vararg arguments: String) : AutoCloseable {
    private val process = ProcessBuilder(programs.resolve(program).toString(), *arguments)
        .redirectError(ProcessBuilder.Redirect.DISCARD).start()
    private val lines = process.inputReader()

    /** What its next line that begins so goes on with. */
    fun said(beginning: String): String {
        while (true) {
            val line = lines.readLine() ?: error("it ended and did not say $beginning")
            if (line.startsWith(beginning)) return line.removePrefix(beginning)
        }
    }

    override fun close() {
        process.destroy()
        process.waitFor()
    }
}

/**
 * A runner on a port of its own, or on that of another one that has ended. One that knows an authority
 * speaks TLS, and lets in who shows a certificate of it.
 */
class Runner(
    at: String = "127.0.0.1:0",
    hosts: List<String> = emptyList(),
    authority: Path? = null,
) : AutoCloseable {
    private val folder = temporary()
    private val running = Running(
        "bowline", "serve", "--listen", at,
        "--state-dir", folder.resolve("state").toString(), "--socket", folder.resolve("socket").toString(),
        *hosts.flatMap { listOf("--host", it) }.toTypedArray(),
        *authority?.let { arrayOf("--tls-own", "--client-ca", it.toString()) }.orEmpty(),
    )
    private val scheme = if (authority == null) "http" else "https"
    val address: String = running.said("listening on $scheme://")
    val token: String = Files.readString(Path.of(running.said("token in "))).trim()
    val configuration = RunnerConfiguration(
        "$scheme://$address",
        token = token,
        certificates = authority?.let { listOf(running.said("certificate ")) },
    )

    override fun close() = running.close()
}
