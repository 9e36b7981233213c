/* The tools that several profiles share: files, skills, personal data, jobs, sessions. */
#pragma once

#include "code/model.h"

void native_write_file(struct code_req *r);
void native_read_file(struct code_req *r);
void native_list_files(struct code_req *r);
void native_save_skill(struct code_req *r);
void native_load_skill(struct code_req *r);
void native_list_skills(struct code_req *r);
void native_sanitize(struct code_req *r);
void native_restore(struct code_req *r);
void native_job_status(struct code_req *r);
void native_job_cancel(struct code_req *r);
void native_list_jobs(struct code_req *r);
void native_save_snapshot(struct code_req *r);
void native_list_snapshots(struct code_req *r);
void native_restore_snapshot(struct code_req *r);
void native_delete_snapshot(struct code_req *r);
void native_list_sessions(struct code_req *r);
void native_clear_session(struct code_req *r);
void native_stats(struct code_req *r);
