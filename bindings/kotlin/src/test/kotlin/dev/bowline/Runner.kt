package dev.bowline

import java.nio.file.Files
import java.nio.file.Path

/** A program of the workspace that runs until it is closed. */
class RunningProgram(program: String, vararg arguments: String) : AutoCloseable {
    private val process = ProcessBuilder(programs.resolve(program).toString(), *arguments)
        .redirectError(ProcessBuilder.Redirect.DISCARD).start()
    private val lines = process.inputReader()

    /** Reads lines up to one with the prefix and returns the rest of that line. */
    fun lineAfter(prefix: String): String {
        while (true) {
            val line = lines.readLine() ?: error("the program ended without a line that begins with $prefix")
            if (line.startsWith(prefix)) return line.removePrefix(prefix)
        }
    }

    override fun close() {
        process.destroy()
        process.waitFor()
    }
}

/**
 * A runner, on a free port unless [at] names one, with the sessions and the token of [folder]. With an [authority] it uses TLS and accepts only
 * clients with a certificate of that authority.
 */
class Runner(
    at: String = "127.0.0.1:0",
    hosts: List<String> = emptyList(),
    authority: Path? = null,
    val folder: Path = temporaryDirectory(),
) : AutoCloseable {
    private val running = RunningProgram(
        "bowline", "serve", "--listen", at,
        "--state-dir", folder.resolve("state").toString(), "--socket", folder.resolve("socket").toString(),
        *hosts.flatMap { listOf("--host", it) }.toTypedArray(),
        *authority?.let { arrayOf("--tls-own", "--client-ca", it.toString()) }.orEmpty(),
    )
    private val scheme = if (authority == null) "http" else "https"
    val address: String = running.lineAfter("listening on $scheme://")
    val token: String = Files.readString(Path.of(running.lineAfter("token in "))).trim()
    val configuration = RunnerConfiguration(
        "$scheme://$address",
        token = token,
        certificates = authority?.let { listOf(running.lineAfter("certificate ")) },
    )

    override fun close() = running.close()
}
