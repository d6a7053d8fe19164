/*
 * peer_simdjson.cpp - reads a trace with simdjson's on-demand parser, on request.
 *
 *     fields FILE   the fields of each record; args are skipped
 *     all FILE      every value inside args is read too
 *     load FILE     as `all`, with reading the file into memory
 *     gzip FILE     zlib inflates, then as `all`
 *
 * Requests and answers as in bench_marey.c. In `fields` and `all` the file is in memory
 * already, padded as simdjson wants it: that work is not in their times, while Marey's
 * import reads the file each time. Records are only looked at: nothing is kept but sums.
 */
#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <time.h>

#include <simdjson.h>
#include <zlib.h>

namespace
{

using namespace simdjson;

struct Sums {
    uint64_t records = 0;
    uint64_t complete = 0;
    uint64_t ts_sum = 0;
    uint64_t dur_sum = 0;
    uint64_t correlation_sum = 0;
    uint64_t text_bytes = 0; // so that no string can be left unread
    double number_sum = 0;
};

struct Record {
    char phase = 0;
    double ts = 0;
    double dur = 0;
    uint64_t correlation = 0;
};

void visit(ondemand::value value, Sums &sums);

void visit_object(ondemand::object object, Sums &sums)
{
    for (auto field : object) {
        sums.text_bytes += std::string_view(field.unescaped_key()).size();
        visit(field.value(), sums);
    }
}

void visit(ondemand::value value, Sums &sums)
{
    switch (value.type()) {
    case ondemand::json_type::array:
        for (auto element : value.get_array())
            visit(element.value(), sums);
        break;
    case ondemand::json_type::object:
        visit_object(value.get_object(), sums);
        break;
    case ondemand::json_type::number:
        sums.number_sum += double(value.get_double());
        break;
    case ondemand::json_type::string:
        sums.text_bytes += std::string_view(value.get_string()).size();
        break;
    case ondemand::json_type::boolean:
        sums.number_sum += bool(value.get_bool());
        break;
    case ondemand::json_type::null:
        break;
    }
}

void visit_args(ondemand::object args, Record &record, Sums &sums)
{
    for (auto field : args) {
        const std::string_view key = field.unescaped_key();
        if (key == "correlation")
            record.correlation = uint64_t(field.value().get_uint64());
        else
            visit(field.value(), sums);
    }
}

// Times of other records may be text or missing; only numbers are taken.
double number_of(ondemand::value value)
{
    double number = 0;
    return value.get_double().get(number) == SUCCESS ? number : 0.0;
}

void read_record(ondemand::object object, bool with_args, Sums &sums)
{
    Record record;
    for (auto field : object) {
        const std::string_view key = field.unescaped_key();
        ondemand::value value = field.value();
        if (key == "ph")
            record.phase = std::string_view(value.get_string())[0];
        else if (key == "ts")
            record.ts = number_of(value);
        else if (key == "dur")
            record.dur = number_of(value);
        else if (key == "args" && !with_args)
            continue;
        else if (key == "args")
            visit_args(value.get_object(), record, sums);
        else
            visit(value, sums);
    }
    sums.records++;
    if (record.phase != 'X')
        return;
    sums.complete++;
    sums.ts_sum += uint64_t(std::llround(record.ts * 1000));
    sums.dur_sum += uint64_t(std::llround(record.dur * 1000));
    sums.correlation_sum += record.correlation;
}

Sums read_trace(ondemand::parser &parser, const padded_string &json, bool with_args)
{
    Sums sums;
    ondemand::document document = parser.iterate(json);
    for (ondemand::object record : document["traceEvents"].get_array())
        read_record(record, with_args, sums);
    return sums;
}

// A gzip file of one member ends with the size of what is in it.
size_t inflated_size(const std::string &path)
{
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    unsigned char tail[4] = {};
    file.seekg(-4, std::ios::end);
    file.read(reinterpret_cast<char *>(tail), sizeof tail);
    if (!file)
        throw std::runtime_error("cannot read '" + path + "'");
    return size_t(tail[0]) | size_t(tail[1]) << 8 | size_t(tail[2]) << 16 | size_t(tail[3]) << 24;
}

// Into text, whose memory is used again if it has the size already.
void inflate_file(const std::string &path, padded_string &text)
{
    const size_t size = inflated_size(path);
    if (text.size() != size)
        text = padded_string(size);
    gzFile file = gzopen(path.c_str(), "rb");
    if (file == nullptr)
        throw std::runtime_error("cannot open '" + path + "'");
    gzbuffer(file, 1 << 20);
    size_t len = 0;
    for (int n = 1; n > 0 && len < size; len += size_t(n))
        n = gzread(file, text.data() + len, unsigned(std::min(size - len, size_t(1) << 22)));
    gzclose(file);
    if (len != size)
        throw std::runtime_error("cannot inflate '" + path + "'");
}

uint64_t now_ns(clockid_t clock)
{
    timespec now{};
    clock_gettime(clock, &now);
    return uint64_t(now.tv_sec) * 1000000000 + uint64_t(now.tv_nsec);
}

class Peer
{
  public:
    explicit Peer(clockid_t clock) : clock_(clock)
    {
    }

    void answer(const std::string &request)
    {
        const size_t tab = request.find('\t');
        const std::string name = request.substr(0, tab);
        const std::string path = tab == std::string::npos ? "" : request.substr(tab + 1);
        if ((name == "fields" || name == "all") && path != kept_path_) {
            kept_ = padded_string::load(path);
            kept_path_ = path;
        }
        const uint64_t start = now_ns(clock_);
        Sums sums;
        if (name == "load")
            sums = read_trace(parser_, padded_string::load(path), true);
        else if (name == "gzip") {
            inflate_file(path, inflated_);
            sums = read_trace(parser_, inflated_, true);
        } else
            sums = read_trace(parser_, kept_, name == "all");
        const uint64_t took = now_ns(clock_) - start;
        std::printf("{\"ns\": %" PRIu64 ", \"records\": %" PRIu64 ", \"complete\": %" PRIu64
                    ", \"ts_sum\": %" PRIu64 ", \"dur_sum\": %" PRIu64 ", \"text_bytes\": %" PRIu64
                    ", \"number_sum\": %.17g",
                    took, sums.records, sums.complete, sums.ts_sum, sums.dur_sum, sums.text_bytes,
                    sums.number_sum);
        if (name != "fields")
            std::printf(", \"correlation_sum\": %" PRIu64, sums.correlation_sum);
        std::printf("}\n");
        std::fflush(stdout);
    }

  private:
    clockid_t clock_;
    ondemand::parser parser_;
    padded_string kept_;
    padded_string inflated_;
    std::string kept_path_;
};

} // namespace

int main(int argc, char **argv)
{
    if (argc > 1 && std::string_view(argv[1]) == "--version") {
        std::printf("simdjson %d.%d.%d (%s)\n", SIMDJSON_VERSION_MAJOR, SIMDJSON_VERSION_MINOR,
                    SIMDJSON_VERSION_REVISION, get_active_implementation()->name().c_str());
        return 0;
    }
    try {
        const bool is_cpu = argc > 1 && std::string_view(argv[1]) == "cpu";
        Peer peer(is_cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC);
        for (std::string line; std::getline(std::cin, line);)
            peer.answer(line);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "peer_simdjson: %s\n", error.what());
        return 3;
    }
    return 0;
}
